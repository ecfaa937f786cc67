import { Page } from "../../app/page";
import { Empty } from "../../parts/empty";

/** Why a key was allowed or blocked, in numbers and words. */
export function WhyPage() {
  return (
    <Page title="Why">
      <Empty title="Not here yet">
        <p>The API has it already: see /api/openapi.json.</p>
      </Empty>
    </Page>
  );
}
