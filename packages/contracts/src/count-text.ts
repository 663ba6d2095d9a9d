/**
 * A number with what is counted, in the form that the number needs: `1 SIM`, `2 SIMs`; `many` where it is more than an s: `1 SIM waits`,
 * `0 SIMs wait`. A text in place of the number (`unknown`, `1,024`) takes the plural unless it says 1.
 */
export function countText(count: number | string, one: string, many = `${one}s`): string {
  return `${count} ${Number(count) === 1 ? one : many}`
}
