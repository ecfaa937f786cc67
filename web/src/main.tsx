// Styles first: those of pages may then overrule those of parts.
import "./style/tokens.css";
import "./style/base.css";
import "./style/parts.css";
import "./style/frame.css";
import { render } from "preact";
import { App } from "./app/app";
import { followAddress } from "./app/route";
import { followTheme } from "./app/theme";
import { Migrator } from "./state/migration";
import { newSession, SessionProvider } from "./state/session";

followTheme();
followAddress();

const session = newSession((url, init) => fetch(url, init));
const look = (): void => session.connection.seen(document.visibilityState === "visible");
document.addEventListener("visibilitychange", look);
look();
setInterval(() => session.store.tick(), 1000);

const migrator = new Migrator(session, () => localStorage);
migrator.start();

const root = document.getElementById("app");
if (root) {
  render(
    <SessionProvider value={session}>
      <App migrator={migrator} />
    </SessionProvider>,
    root,
  );
}
