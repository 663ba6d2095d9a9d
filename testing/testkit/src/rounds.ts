/**
 * How often to try what a longer run tries more often: `usual`, times what SVC_TEST_TIMES says (`npm run soak` says 10).
 */
export function rounds(usual: number): number {
  const times = Number(process.env.SVC_TEST_TIMES ?? '1')
  if (!(times > 0)) throw new Error('SVC_TEST_TIMES must be a number above 0')
  return Math.ceil(usual * times)
}
