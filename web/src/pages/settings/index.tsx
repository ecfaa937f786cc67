import { Page } from "../../app/page";
import { Empty } from "../../parts/empty";

/** The numbers of the rules, and where each comes from. */
export function SettingsPage() {
  return (
    <Page title="Settings">
      <Empty title="Not here yet">
        <p>The API has it already: see /api/openapi.json.</p>
      </Empty>
    </Page>
  );
}
