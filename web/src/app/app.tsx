import { Choice } from "../parts/field";
import { Empty } from "../parts/empty";
import { ButtonLink } from "../parts/button";
import { Icon } from "../parts/icon";
import { MigrationNotice } from "../parts/migration";
import { ErrorNotice } from "../parts/notice";
import type { Migrator } from "../state/migration";
import { useSession } from "../state/session";
import { Boundary } from "./boundary";
import { navigation, pages, type NavItem } from "./pages";
import { Page } from "./page";
import { href, route } from "./route";
import { theme } from "./theme";
import { TrustLine } from "./trustline";

/** The frame: where one can go, how fresh the numbers are, and the page. */
export function App({ migrator }: { migrator: Migrator }) {
  return (
    <div class="frame">
      <a class="skip" href="#content" onClick={skip}>
        Skip to the content
      </a>
      <Side />
      <div class="stage">
        <TrustLine />
        <main class="content" id="content" tabIndex={-1}>
          <MigrationNotice of={migrator.state.value} onAgain={() => void migrator.run()} onDismiss={() => migrator.dismiss()} />
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
  const link = useSession().store.link.value;
  const { page, id, query } = route.value;
  if (link.kind === "refused") return <ErrorNotice title="The engine asks for a token" error={link.why} />;
  if (page === null) return <Nowhere />;
  const Shown = pages[page];
  const key = `${page}/${id}`;
  return (
    <Boundary of={key}>
      <Shown key={key} id={id} query={query} />
    </Boundary>
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

function Side() {
  return (
    <div class="side">
      <div class="side-inner">
        <a class="brand" href={href("pools")}>
          <Mark />
          Quotashare
        </a>
        <nav class="nav" aria-label="Pages">
          {navigation.map((group) => (
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
        <div class="side-foot">
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

/** Three parts of one whole. */
function Mark() {
  return (
    <svg class="brand-mark" width="24" height="24" viewBox="0 0 32 32" aria-hidden="true">
      <rect class="brand-ground" width="32" height="32" rx="8" />
      <rect x="7" y="8" width="18" height="4" rx="2" fill="#fff" />
      <rect x="7" y="14" width="12" height="4" rx="2" fill="#ffc47d" />
      <rect x="7" y="20" width="7" height="4" rx="2" fill="#8fe3c4" />
    </svg>
  );
}
