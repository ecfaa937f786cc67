import { Page } from "../../app/page";
import { Empty } from "../../parts/empty";

/** What each connection may use, and where that comes from. */
export function PlansPage() {
  return (
    <Page title="Plans">
      <Empty title="Not here yet">
        <p>The API has it already: see /api/openapi.json.</p>
      </Empty>
    </Page>
  );
}
