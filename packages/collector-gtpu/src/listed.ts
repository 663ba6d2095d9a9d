import { eachPaced } from '@steeple/contracts'

/** All of them as a list. Others get their turns meanwhile: a sender that forges addresses makes the list as long as it can be. */
export async function listed<T>(items: Iterable<T>): Promise<readonly T[]> {
  const list: T[] = []
  await eachPaced(items, (item) => list.push(item))
  return list
}
