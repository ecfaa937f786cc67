/** The settings while somebody writes them. */
import type { NewSettings, SettingName, Settings } from "../api/types";

/** What was typed for a setting: null to take away what is set, empty or absent to keep it. */
export type SettingsDraft = { readonly [name in SettingName]?: string | null | undefined };

/** What is sent: what was typed and differs from what is stored. A default that is typed is stored: it then stands over every environment. */
export function settingsDocument(settings: Settings, draft: SettingsDraft): NewSettings {
  const changed = (Object.entries(draft) as [SettingName, string | null | undefined][]).filter(([name, typed]) => {
    if (typed === undefined || typed?.trim() === "") return false;
    const { source, value } = settings[name];
    return typed === null ? source !== "default" : source !== "stored" || typed.trim() !== String(value);
  });
  return Object.fromEntries(changed.map(([name, typed]) => [name, typed === null || typed === undefined ? null : typed.trim()])) as NewSettings;
}
