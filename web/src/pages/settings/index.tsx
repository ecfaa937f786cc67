import { Page } from "../../app/page";
import { Button } from "../../parts/button";
import { ErrorNotice } from "../../parts/notice";
import { Waiting } from "../../parts/waiting";
import { useMay, useSession } from "../../state/session";
import { useAnswer } from "../../state/trial";
import { ImportPools } from "./import";
import { SettingsForm, SettingsText } from "./form";
import "./settings.css";

/** What holds for all pools, and where each value comes from. */
export function SettingsPage() {
  const { api, store } = useSession();
  const may = useMay("change");
  const change = store.changes.value.find(({ kind, rejected }) => kind === "settings" && !rejected);
  const { value, error, again } = useAnswer(`settings ${change?.seq ?? ""}`, () => api.settings.get());
  return (
    <Page title="Settings" lead="What holds for all pools. A value that is set here goes before what a program found in its environment, and that before the default.">
      {error && <ErrorNotice title="The settings could not be read" error={error} actions={<Button onClick={again}>Try again</Button>} />}
      {!value && !error && <Waiting label="The settings are being read" cards={1} />}
      {value && (may ? <SettingsForm settings={value} onChanged={again} /> : <SettingsText settings={value} />)}
      {may && <ImportPools />}
    </Page>
  );
}
