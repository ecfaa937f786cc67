/** The settings of the engine: what each does, in words. */
import type { Amount } from "../api/json";
import type { Setting, SettingName } from "../api/types";
import { nbsp } from "./amount";
import { cut, grouped, percentOf } from "./decimal";
import { hour, minute, second } from "./time";

interface SettingWords {
  readonly title: string;
  readonly meaning: string;
  /** What the number counts. */
  readonly unit: SettingUnit;
  /** Of what it is a part. */
  readonly of?: string;
}

export type SettingUnit = "part" | "days" | "milliseconds";

const settings: Record<SettingName, SettingWords> = {
  saturationThreshold: {
    title: "When shares begin to count",
    meaning: "The part of a limit that is used before keys are held to their shares. Below it, anybody may use what others leave.",
    unit: "part",
    of: "the limit",
  },
  softDeprioritizeFactor: {
    title: "How far soft keys go behind",
    meaning: "What the score of a request is multiplied by when its soft key is above its share.",
    unit: "part",
    of: "its score",
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
    of: "allowed answers",
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

/** A length in the largest unit of which it is a whole number: "5 min", "90 s"; "" for one of milliseconds alone. */
function length(ms: number): string {
  const units = [[hour, "h"], [minute, "min"], [second, "s"]] as const;
  const found = ms > 0 ? units.find(([unit]) => ms % unit === 0) : undefined;
  return found ? `${grouped(String(ms / found[0]))}${nbsp}${found[1]}` : "";
}

/** What a value means where the number alone does not say: "50 % of the limit", "30 s"; "" where it does. */
export function settingMeaning(name: SettingName, value: Amount): string {
  const { unit, of } = settings[name];
  if (unit === "milliseconds") return length(Number(value));
  return of ? `${cut(percentOf(value, 1, 4) ?? "0", 4)}${nbsp}% of ${of}` : "";
}

/** "0.5 (50 % of the limit)", "30,000 ms (30 s)", "14 days". */
export function settingValue(name: SettingName, value: number): string {
  const meaning = settingMeaning(name, value);
  return `${settingNumber(name, value)}${meaning && ` (${meaning})`}`;
}

function settingNumber(name: SettingName, value: number): string {
  const number = grouped(String(value));
  const { unit } = settings[name];
  if (unit === "part") return number;
  return `${number}${nbsp}${unit === "milliseconds" ? "ms" : value === 1 ? "day" : "days"}`;
}

/** Where the value comes from: "set by hand", "from the environment of decider-1", "the default". */
export function settingSource({ source, from }: Setting): string {
  if (source === "default") return "the default";
  if (source === "stored") return "set by hand";
  return from ? `from the environment of ${from}` : "from the environment";
}
