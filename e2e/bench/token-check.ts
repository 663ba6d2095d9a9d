import { authenticatorRef, systemPrincipal, tokenMintRef } from '@steeple/contracts'
import { loadTestbed } from '@steeple/testkit'
import { type Finding, quantile } from './measure.ts'
import { packageFolder } from './package-folder.ts'

const TOKENS = 3_000
const LIMIT_MS = 0.1

/** Time of one token check, for tokens seen for the first time and for one that is used again and again. */
export async function benchTokenCheck(): Promise<readonly Finding[]> {
  const { startTestbed } = await loadTestbed()
  const testbed = await startTestbed({ plugins: [{ dir: packageFolder('access') }] })
  try {
    const mint = testbed.service(tokenMintRef)
    const authenticator = testbed.service(authenticatorRef)
    if (mint === undefined || authenticator === undefined) throw new Error('access is not there')
    const tokens: string[] = []
    for (let n = 0; n < TOKENS; n++)
      tokens.push((await mint.mint(systemPrincipal('bench'), `bench ${n}`, ['viewer'])).token)
    const check = async (token: string): Promise<number> => {
      const startedAt = performance.now()
      if ((await authenticator.authenticate(token)) === undefined) throw new Error('a live token was refused')
      return performance.now() - startedAt
    }
    const first: number[] = []
    for (const token of tokens) first.push(await check(token))
    const again: number[] = []
    for (let n = 0; n < 100_000; n++) again.push(await check(tokens[0] ?? ''))
    return [
      {
        name: 'token check, first use (median)',
        value: quantile(first, 0.5),
        unit: 'ms',
        target: `≤ ${LIMIT_MS} ms`,
        isMet: quantile(first, 0.5) <= LIMIT_MS,
      },
      {
        name: 'token check, again (p99)',
        value: quantile(again, 0.99),
        unit: 'ms',
        target: `≤ ${LIMIT_MS} ms`,
        isMet: quantile(again, 0.99) <= LIMIT_MS,
      },
    ]
  } finally {
    await testbed.stop()
  }
}
