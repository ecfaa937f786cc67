/** The settings of the engine: what each does, in words. */
import type { Setting, SettingName } from "../api/types";
import { grouped } from "./decimal";
import { duration } from "./time";

interface SettingWords {
  readonly title: string;
  readonly meaning: string;
  /** What the number counts. */
  readonly unit: "part" | "days" | "milliseconds";
}

const settings: Record<SettingName, SettingWords> = {
  saturationThreshold: {
    title: "When shares begin to count",
    meaning: "The part of a limit that is used before keys are held to their shares. Below it, anybody may use what others leave.",
    unit: "part",
  },
  softDeprioritizeFactor: {
    title: "How far soft keys go behind",
    meaning: "What the score of a request is multiplied by when its soft key is above its share.",
    unit: "part",
  },
  consumptionRetentionDays: {
    title: "How long history is kept",
    meaning: "The days for which usage can still be looked up, at least.",
    unit: "days",
  },
  signalTtlMs: {
    title: "How long a provider's reading stands",
    meaning: "For readings that do not say themselves when their window starts anew.",
    unit: "milliseconds",
  },
  holdTtlMs: {
    title: "How long a request is held",
    meaning: "For requests under way that do not say themselves how long they may take.",
    unit: "milliseconds",
  },
  decisionSampleRate: {
    title: "Allowed answers that are recorded",
    meaning: "The part of them that can be looked up later. Blocks are recorded always.",
    unit: "part",
  },
  maxLagMs: {
    title: "How far the engine may be behind",
    meaning: "The age of its numbers from which an answer says that it may be off.",
    unit: "milliseconds",
  },
};

/** In the order in which people ask for them. */
export const settingNames = Object.keys(settings) as SettingName[];

export function settingWords(name: SettingName): SettingWords {
  return settings[name];
}

/** What a value means where the number alone does not say: "50 % of the limit", "30 s", "14 days". */
export function settingValue(name: SettingName, value: number): string {
  const { unit } = settings[name];
  if (unit === "milliseconds") return value >= 1000 ? `${grouped(String(value))} ms (${duration(value)})` : `${value} ms`;
  return unit === "days" ? `${grouped(String(value))} ${value === 1 ? "day" : "days"}` : String(value);
}

/** Where the value comes from: "set by hand", "from the environment of decider-1", "the default". */
export function settingSource({ source, from }: Setting): string {
  if (source === "default") return "the default";
  if (source === "stored") return "set by hand";
  return from ? `from the environment of ${from}` : "from the environment";
}
