import { Page } from "../../app/page";
import { Empty } from "../../parts/empty";

/** What was answered, the newest first. */
export function DecisionsPage() {
  return (
    <Page title="Decisions">
      <Empty title="Not here yet">
        <p>The API has it already: see /api/openapi.json.</p>
      </Empty>
    </Page>
  );
}
