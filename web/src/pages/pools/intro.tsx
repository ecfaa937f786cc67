import { useState } from "preact/hooks";
import { Button } from "../../parts/button";

const place = "quotashare:intro";

/** Whether somebody has read it. The browser may keep nothing: then it is shown again. */
function readBefore(): boolean {
  try {
    return localStorage.getItem(place) === "read";
  } catch {
    return false;
  }
}

function remember(): void {
  try {
    localStorage.setItem(place, "read");
  } catch {
    // It stays away until the page is loaded anew.
  }
}

const steps: readonly (readonly [title: string, text: string])[] = [
  ["A pool is a group of accounts", "Several keys use them, and each key is given a part: its fair share of what the provider allows."],
  ["Who needs little lends, who needs much borrows", "While there is room, a key may go above its share. Nothing that others leave is wasted."],
  ["When it gets busy, shares count", "From a threshold on, each key is held to its share, so that nobody takes what is another's."],
];

/** What all this is, for who sees it for the first time. */
export function Intro() {
  const [read, setRead] = useState(readBefore);
  if (read) return null;
  const done = (): void => {
    remember();
    setRead(true);
  };
  return (
    <section class="card intro" aria-labelledby="intro-title">
      <div class="intro-head">
        <h2 id="intro-title">Sharing a quota, in three sentences</h2>
        <Button onClick={done}>Understood</Button>
      </div>
      <ol>
        {steps.map(([title, text]) => (
          <li key={title}>
            <h3>{title}</h3>
            <p class="soft">{text}</p>
          </li>
        ))}
      </ol>
    </section>
  );
}
