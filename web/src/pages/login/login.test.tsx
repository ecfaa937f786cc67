// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { pageStage, refused } from "../stage";
import { LoginPage } from ".";

const on = pageStage(() => ({ needsToken: true }));

test("what the engine says of a token stands beside it, and the token stays to be corrected", async () => {
  on.answer(() => refused(401, "unauthorized", "token has expired"));
  await on.open(<LoginPage />);
  await on.type("Token", "  qt-old ");
  await on.press("Log in");
  expect(on.sent).toMatchObject([{ method: "POST", path: "session", body: { token: "qt-old" } }]);
  expect(on.text()).toContain("token has expired");
  expect(on.control("Token").getAttribute("aria-invalid")).toBe("true");
  expect(on.control("Token").value).toBe("  qt-old ");
  on.answer(() => refused(429, "busy", "token: try again in 6 s"));
  await on.press("Log in");
  expect(on.text()).toContain("try again in 6 s");
  expect(on.text()).not.toContain("token has expired");
});

test("nothing is sent without a token", async () => {
  await on.open(<LoginPage />);
  await on.type("Token", "  ");
  await on.press("Log in");
  expect(on.sent).toEqual([]);
});

test("while it is looked at, it cannot be sent twice", async () => {
  on.answer(() => ({ body: { needsToken: false, role: "admin" } }));
  await on.open(<LoginPage />);
  await on.type("Token", "right");
  await on.press("Log in");
  await on.press("Log in"); // the page begins anew; until then the button waits
  expect(on.sent).toHaveLength(1);
});

test("the token is shown to who asks for it", async () => {
  await on.open(<LoginPage />);
  await on.type("Token", "qt-secret");
  expect(on.control("Token").type).toBe("password");
  await on.press("Show");
  expect([on.control("Token").type, on.control("Token").value]).toEqual(["text", "qt-secret"]);
  await on.press("Hide");
  expect(on.control("Token").type).toBe("password");
});

test("who had a session is told that it ended", async () => {
  on.session.who.identity.value = { needsToken: false, role: "read", name: "x" };
  on.session.who.lost();
  await on.open(<LoginPage />);
  expect(on.text()).toContain("Your session has ended");
});
