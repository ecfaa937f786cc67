import { Page } from "../../app/page";
import { Empty } from "../../parts/empty";

/** Creates a pool, or changes one. */
export function EditPage() {
  return (
    <Page title="Pool">
      <Empty title="Not here yet">
        <p>The API has it already: see /api/openapi.json.</p>
      </Empty>
    </Page>
  );
}
