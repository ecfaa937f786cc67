/** Every page there is, and where the navigation has it. */
import type { FunctionComponent } from "preact";
import type { IconName } from "../parts/icon";
import { DecisionsPage } from "../pages/decisions";
import { EditPage } from "../pages/edit";
import { PlansPage } from "../pages/plans";
import { PoolPage } from "../pages/pool";
import { PoolsPage } from "../pages/pools";
import { RejectedPage } from "../pages/rejected";
import { SettingsPage } from "../pages/settings";
import { WhatIfPage } from "../pages/whatif";
import { WhyPage } from "../pages/why";
import type { PageName } from "./route";

export interface PageProps {
  /** What the page is about, from its address; "" for none. */
  readonly id: string;
  readonly query: Readonly<Record<string, string>>;
}

export const pages: Record<PageName, FunctionComponent<PageProps>> = {
  pools: PoolsPage,
  pool: PoolPage,
  edit: EditPage,
  plans: PlansPage,
  why: WhyPage,
  whatif: WhatIfPage,
  decisions: DecisionsPage,
  rejected: RejectedPage,
  settings: SettingsPage,
};

export interface NavItem {
  readonly page: PageName;
  readonly text: string;
  readonly icon: IconName;
  /** Pages that belong to this one. */
  readonly also: readonly PageName[];
}

export interface NavGroup {
  readonly title: string;
  readonly items: readonly NavItem[];
}

const item = (page: PageName & IconName, text: string, ...also: PageName[]): NavItem => ({ page, text, icon: page, also });

export const navigation: readonly NavGroup[] = [
  { title: "Share", items: [item("pools", "Pools", "pool", "edit"), item("plans", "Plans")] },
  { title: "Understand", items: [item("why", "Why"), item("whatif", "What if"), item("decisions", "Decisions")] },
  { title: "Operate", items: [item("rejected", "Rejected events"), item("settings", "Settings")] },
];
