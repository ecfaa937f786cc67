import { Page } from "../../app/page";
import { Empty } from "../../parts/empty";

/** What could not be counted. */
export function RejectedPage() {
  return (
    <Page title="Rejected events">
      <Empty title="Not here yet">
        <p>The API has it already: see /api/openapi.json.</p>
      </Empty>
    </Page>
  );
}
