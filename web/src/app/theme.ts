/** Light or dark: as the system has it, unless somebody chose. */
import { effect, signal } from "@preact/signals";

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

const place = "quotashare:theme";

/** What was chosen. The browser may keep nothing, or not let us see it. */
function remembered(): Theme {
  try {
    const kept = localStorage.getItem(place);
    return themes.find((theme) => theme === kept) ?? "system";
  } catch {
    return "system";
  }
}

function remember(theme: Theme): void {
  try {
    localStorage.setItem(place, theme);
  } catch {
    // It holds until the page is closed.
  }
}

export const theme = signal<Theme>("system");

/** Takes what was chosen before, and shows and keeps every choice from now on. */
export function followTheme(): void {
  theme.value = remembered();
  effect(() => {
    const { dataset } = document.documentElement;
    if (theme.value === "system") delete dataset["theme"];
    else dataset["theme"] = theme.value;
    remember(theme.value);
  });
}
