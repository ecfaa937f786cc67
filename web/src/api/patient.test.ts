import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ApiError } from "./error";
import { patiently } from "./patient";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const busy = new ApiError("busy", "an audit is running", 429, [], 2_000);

test("who is told to come back does so, when told", async () => {
  const call = vi.fn().mockRejectedValueOnce(busy).mockRejectedValueOnce(busy).mockResolvedValue("answer");
  const told = vi.fn();
  const answer = patiently(call, new AbortController().signal, told);
  await vi.advanceTimersByTimeAsync(1_999);
  expect(call).toHaveBeenCalledTimes(1);
  expect(told).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(2_001);
  expect(await answer).toBe("answer");
  expect(call).toHaveBeenCalledTimes(3);
});

test("any other error is told at once", async () => {
  const call = vi.fn().mockRejectedValue(new ApiError("invalid", "at is missing", 400));
  await expect(patiently(call, new AbortController().signal)).rejects.toThrow("at is missing");
  expect(call).toHaveBeenCalledTimes(1);
});

test("who hangs up does not ask again", async () => {
  const call = vi.fn().mockRejectedValue(busy);
  const abort = new AbortController();
  const answer = patiently(call, abort.signal);
  const refused = expect(answer).rejects.toMatchObject({ name: "AbortError" });
  await vi.advanceTimersByTimeAsync(100);
  abort.abort();
  await refused;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(call).toHaveBeenCalledTimes(1);
});

test("the next audit waits for one that was given up to end", async () => {
  const abort = new AbortController();
  void patiently(() => new Promise(() => undefined), abort.signal);
  await vi.advanceTimersByTimeAsync(1_000);
  abort.abort();
  const call = vi.fn().mockResolvedValue("answer");
  const answer = patiently(call, new AbortController().signal);
  await vi.advanceTimersByTimeAsync(249);
  expect(call).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(await answer).toBe("answer");
});
