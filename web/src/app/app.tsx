import { may } from "../model/may";
import { LoginPage } from "../pages/login";
import { OwnPage } from "../pages/own";
import { ButtonLink } from "../parts/button";
import { Empty } from "../parts/empty";
import { Choice } from "../parts/field";
import { Icon } from "../parts/icon";
import { Mark } from "../parts/mark";
import { MigrationNotice } from "../parts/migration";
import { Notice } from "../parts/notice";
import type { Migrator } from "../state/migration";
import { useMay, useSession } from "../state/session";
import { Account } from "./account";
import { Boundary } from "./boundary";
import { Page } from "./page";
import { navigation, pages, type NavGroup, type NavItem } from "./pages";
import { href, route } from "./route";
import { theme } from "./theme";
import { TrustLine } from "./trustline";

/** The frame, or what stands in its place for who may not see everything. */
export function App({ migrator }: { migrator: Migrator }) {
  const { who } = useSession();
  if (who.identity.value === null) return null; // the engine says in a moment who this is
  if (who.needsToken) return <LoginPage />;
  return may(who.role, "see") ? <Frame migrator={migrator} /> : <Bound />;
}

/** For who may see some keys, or nothing: there is nowhere else to go. */
function Bound() {
  const own = useMay("see-own");
  return (
    <div class="frame">
      <Side navigation={[]} />
      <main class="content" id="content" tabIndex={-1}>
        {own ? <OwnPage /> : <NothingPage />}
      </main>
    </div>
  );
}

function NothingPage() {
  return (
    <Page title="Nothing to see">
      <Empty title="This token publishes events, and sees nothing">
        <p>Log out, and log in with a token that has another role.</p>
      </Empty>
    </Page>
  );
}

/** Where one can go, how fresh the numbers are, and the page. */
function Frame({ migrator }: { migrator: Migrator }) {
  const problem = useSession().who.identity.value?.problem;
  return (
    <div class="frame">
      <a class="skip" href="#content" onClick={skip}>
        Skip to the content
      </a>
      <Side navigation={navigation} />
      <div class="stage">
        <TrustLine />
        <main class="content" id="content" tabIndex={-1}>
          {problem !== undefined && (
            <Notice tone="warn" title="Tokens are not as their file says">
              <p>{problem}</p>
            </Notice>
          )}
          <MigrationNotice of={migrator.state.value} onAgain={() => void migrator.run()} onDismiss={() => migrator.dismiss()} onDiscard={() => migrator.discard()} />
          <Current />
        </main>
      </div>
    </div>
  );
}

/** The address is the page's: going to a place within it must not change it. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("content")?.focus();
}

function Current() {
  const change = useMay("change");
  const { page, id, query } = route.value;
  if (page === null) return <Nowhere />;
  if (page === "edit" && !change) return <OnlyLooking />;
  const Shown = pages[page];
  const key = `${page}/${id}`;
  return (
    <Boundary of={key}>
      <Shown key={key} id={id} query={query} />
    </Boundary>
  );
}

function OnlyLooking() {
  return (
    <Page title="Nothing can be changed">
      <Empty title="This token may look, and change nothing" actions={<ButtonLink href={href("pools")}>All pools</ButtonLink>}>
        <p>Whoever runs the engine can make one with the role admin.</p>
      </Empty>
    </Page>
  );
}

function Nowhere() {
  return (
    <Page title="There is no such page">
      <Empty title="This address leads nowhere" actions={<ButtonLink href={href("pools")}>All pools</ButtonLink>}>
        <p>The link may be of another version of the dashboard.</p>
      </Empty>
    </Page>
  );
}

function Side({ navigation }: { navigation: readonly NavGroup[] }) {
  return (
    <div class="side">
      <div class="side-inner">
        <a class="brand" href={href("pools")}>
          <Mark />
          Quotashare
        </a>
        {navigation.length > 0 && <Navigation of={navigation} />}
        <div class="side-foot">
          <Account />
          <Choice
            label="Colours"
            value={theme.value}
            onChange={(chosen) => void (theme.value = chosen)}
            options={[
              { value: "system", text: <Option icon="system" text="As the system" />, title: "As the system" },
              { value: "light", text: <Option icon="sun" text="Light" />, title: "Light" },
              { value: "dark", text: <Option icon="moon" text="Dark" />, title: "Dark" },
            ]}
          />
        </div>
      </div>
    </div>
  );
}

function Navigation({ of }: { of: readonly NavGroup[] }) {
  return (
    <nav class="nav" aria-label="Pages">
      {of.map((group) => (
        <div class="nav-group" key={group.title}>
          <p class="nav-title">{group.title}</p>
          <ul>
            {group.items.map((item) => (
              <li key={item.page}>
                <NavLink item={item} />
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

function Option({ icon, text }: { icon: "system" | "sun" | "moon"; text: string }) {
  return (
    <>
      <Icon name={icon} />
      <span class="hidden-text">{text}</span>
    </>
  );
}

function NavLink({ item }: { item: NavItem }) {
  const { page } = route.value;
  const here = page === item.page || (page !== null && item.also.includes(page));
  return (
    <a class="nav-link" href={href(item.page)} aria-current={here ? "page" : undefined}>
      <Icon name={item.icon} />
      {item.text}
    </a>
  );
}
