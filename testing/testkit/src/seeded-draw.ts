/** Whole numbers from 0 up to, not including, `below`: the same ones for the same seed, by xorshift32. The seed is not 0. */
export function seededDraw(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}
