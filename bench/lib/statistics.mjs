// Numbers out of many measurements of a noisy machine.

/**
 * The value below which a share of the others lies: the nearest of them, none made up.
 *
 * @param {number[]} values
 * @param {number} share between 0 and 1
 */
export function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1));
  return sorted[at] ?? Number.NaN;
}

/** @param {number[]} values */
export const median = (values) => quantile(values, 0.5);

/** @param {number[]} ratios */
export function geometricMean(ratios) {
  return Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);
}
