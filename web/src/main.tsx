// Styles first: those of pages may then overrule those of parts.
import "./style/tokens.css";
import "./style/base.css";
import "./style/parts.css";
import "./style/frame.css";
import { render } from "preact";
import { App } from "./app/app";
import { followAddress } from "./app/route";
import { followTheme } from "./app/theme";
import { may } from "./model/may";
import { legacyPlace } from "./state/legacy";
import { type Alone, Migrator } from "./state/migration";
import { newSession, SessionProvider } from "./state/session";

followTheme();
followAddress();

const left = new BroadcastChannel("quotashare:left");
const others = {
  tell: () => left.postMessage(null),
  listen: (leave: () => void) => left.addEventListener("message", leave),
};
const session = newSession((url, init) => fetch(url, init), () => location.reload(), others);
const look = (): void => session.seen(document.visibilityState === "visible");
document.addEventListener("visibilitychange", look);
setInterval(() => session.tick(), 1000);

// Only where the address is trusted can pages of one browser wait for each other; the engine takes one list in any case.
const alone: Alone = (work) => ("locks" in navigator ? navigator.locks.request(legacyPlace, work) : work());
const migrator = new Migrator(session, () => localStorage, alone);
void session.who.ask().then(() => {
  look();
  if (may(session.who.role, "change")) migrator.start();
});

const root = document.getElementById("app");
if (root) {
  render(
    <SessionProvider value={session}>
      <App migrator={migrator} />
    </SessionProvider>,
    root,
  );
}
