/**
 * An amount as the API sent it: a JSON number with its exact decimal digits.
 * Where a number of JavaScript would not print the same digits, it is their
 * text. So `String(amount)` is what the API sent, to the last digit.
 */
export type Amount = number | string;

/**
 * What may hold a number that would lose digits: 16 digits, or many
 * zeros behind the point. Fifteen digits always survive, and most answers have
 * no more, so most are read by the browser's own parser alone.
 */
const doubtful = /[0-9.]{16}|0\.0{6}/;

/** Strings are matched too, so that digits within them are left alone. */
const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Reads JSON without losing a digit: see Amount. Throws SyntaxError as JSON.parse does. */
export function parseJson(text: string): unknown {
  return JSON.parse(doubtful.test(text) ? text.replace(token, exact) : text);
}

/** A number that does not survive becomes a string of the same digits. */
function exact(found: string): string {
  return found.startsWith('"') || String(Number(found)) === found ? found : `"${found}"`;
}
