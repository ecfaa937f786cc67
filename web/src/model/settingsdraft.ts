/** The settings while somebody writes them. */
import type { NewSettings, SettingName, Settings } from "../api/types";
import { decimal, digits } from "../words/decimal";
import { settingNames, settingWords, type SettingUnit } from "../words/setting";
import { plain } from "./typed";

/** What was typed for a setting: null to take away what is set, empty or absent to keep it. */
export type SettingsDraft = { readonly [name in SettingName]?: string | null | undefined };

/** What is sent: what was typed and differs from what is stored. A default that is typed is stored: it then stands over every environment. */
export function settingsDocument(settings: Settings, draft: SettingsDraft): NewSettings {
  const changed = (Object.entries(draft) as [SettingName, string | null | undefined][]).filter(([name, typed]) => {
    if (typed === undefined || typed?.trim() === "") return false;
    const { source, value } = settings[name];
    return typed === null ? source !== "default" : source !== "stored" || typedSetting(name, typed) !== String(value);
  });
  return Object.fromEntries(changed.map(([name, typed]) => [name, typed === null || typed === undefined ? null : typedSetting(name, typed)])) as NewSettings;
}

/** The units that people may type: how many of the setting's own each is, and by how many places the point moves to the left. */
const factors: Record<SettingUnit, Record<string, readonly [factor: bigint, places: number]>> = {
  milliseconds: { ms: [1n, 0], s: [1000n, 0], min: [60_000n, 0], h: [3_600_000n, 0] },
  part: { "%": [1n, 2] },
  days: { day: [1n, 0], days: [1n, 0], d: [1n, 0] },
};

/** What was typed for a setting as the engine reads it: "5 min" in milliseconds, "80 %" as a part. What has no unit stays as it is. */
export function typedSetting(name: SettingName, text: string): string {
  const [, number = "", unit = ""] = /^(.*?\d)\s*([a-z%]+)$/.exec(text.trim()) ?? [];
  const found = factors[settingWords(name).unit][unit];
  const bare = plain(number);
  if (!found || !/^\d+(\.\d+)?$/.test(bare)) return plain(text);
  const { units, scale } = decimal(bare);
  return digits({ units: units * found[0], scale: scale + found[1] });
}

/** The settings that two revisions have otherwise. */
export function changedSettings(before: Settings, after: Settings): SettingName[] {
  return settingNames.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
}
