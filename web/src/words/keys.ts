/** What a key is called. */

/** "everyone else" is what "*" stands for. */
export function keyName(apiKeyId: string): string {
  return apiKeyId === "*" ? "everyone else" : apiKeyId;
}
