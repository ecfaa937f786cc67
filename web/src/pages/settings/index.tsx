import { Page } from "../../app/page";
import { ErrorNotice } from "../../parts/notice";
import { Waiting } from "../../parts/waiting";
import { useSession } from "../../state/session";
import { useAnswer } from "../../state/trial";
import { ImportPools } from "./import";
import { SettingsForm } from "./form";
import "./settings.css";

/** What holds for all pools, and where each value comes from. */
export function SettingsPage() {
  const { api } = useSession();
  const { value, error, again } = useAnswer("settings", () => api.settings.get());
  return (
    <Page title="Settings" lead="What holds for all pools. A value that is set here goes before what a program found in its environment, and that before the default.">
      {error && <ErrorNotice title="The settings could not be read" error={error} />}
      {!value && !error && <Waiting label="The settings are being read" cards={1} />}
      {value && <SettingsForm key={value.revision} settings={value} onChanged={again} />}
      <ImportPools />
    </Page>
  );
}
