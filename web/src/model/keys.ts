/** Which rows of keys are told. */

/** Keys that share the allocation of everyone else are in the row of "*" already, and are not told twice. */
export function ownRow({ apiKeyId, allocation }: { apiKeyId: string; allocation: string | null }): boolean {
  return allocation !== "*" || apiKeyId === "*";
}
