/** What cannot be read in full: cut off, out of its box, or torn apart. */
import type { Page } from "playwright-core";

/** What a reader does not see as it was meant, at the width that the page has now. */
export async function cutOff(page: Page): Promise<string[]> {
  const found = [await page.evaluate(beyondBoxes), await page.evaluate(tornWords), await page.evaluate(shortFields)];
  return [...new Set(found.flat())];
}

/** Text that ends outside of a box it is in, be it that the box cuts it off, that one would have to scroll, or that it stands on what is beside. The navigation is there to be scrolled. */
function beyondBoxes(): string[] {
  const faults: string[] = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const around = text.parentElement;
    const said = text.textContent?.trim() ?? "";
    if (said === "" || !around?.checkVisibility() || around.closest(".hidden-text, option, .u-legend, .nav")) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    const { left, right } = range.getBoundingClientRect();
    for (let box: Element | null = around; box && box !== document.body; box = box.parentElement) {
      const { display, clipPath } = getComputedStyle(box);
      if (clipPath !== "none") break; // it is there for who listens
      if (display === "inline" || display === "contents") continue;
      const edge = box.getBoundingClientRect();
      if (left >= edge.left - 1 && right <= edge.right + 1) continue;
      faults.push(`"${said}" is at ${Math.round(left)} to ${Math.round(right)}, and its ${box.tagName.toLowerCase()}.${box.className} at ${Math.round(edge.left)} to ${Math.round(edge.right)}`);
      break;
    }
  }
  return faults;
}

/** Words and figures that go on in another line. An id has its hyphens to break at, and what is longer than 20 letters may have none. */
function tornWords(): string[] {
  const faults: string[] = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    if (!text.parentElement?.checkVisibility() || text.parentElement.closest(".hidden-text, option, .u-legend")) continue;
    for (const word of text.textContent?.matchAll(/\p{L}{2,20}|\$?\d[\d.,]*\d/gu) ?? []) {
      const range = document.createRange();
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      const tops = new Set([...range.getClientRects()].filter(({ width }) => width > 0).map(({ top }) => Math.round(top)));
      if (tops.size > 1) faults.push(`${word[0]} is torn in "${text.textContent}"`);
    }
  }
  return faults;
}

/** Fields that are shorter than what is chosen or typed in them. */
function shortFields(): string[] {
  const pen = document.createElement("canvas").getContext("2d");
  const fields = [...document.querySelectorAll<HTMLSelectElement | HTMLInputElement>("select, input.input:not([type=datetime-local])")];
  return fields.flatMap((field) => {
    const { fontWeight, fontSize, fontFamily, paddingLeft, paddingRight } = getComputedStyle(field);
    const said = field instanceof HTMLSelectElement ? (field.selectedOptions[0]?.text ?? "") : field.value;
    if (!pen || !field.checkVisibility()) return [];
    pen.font = `${fontWeight} ${fontSize} ${fontFamily}`;
    const arrow = field instanceof HTMLSelectElement ? 16 : 0;
    const room = field.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight) - arrow;
    const wants = pen.measureText(said).width;
    return wants > room + 1 ? [`a field of ${Math.round(room)} has "${said}", which is ${Math.round(wants)} wide`] : [];
  });
}
