import type { MutationTx, Reply, Request, Role, Tx } from '@steeple/contracts'
import type { MemoryDb } from '@steeple/testkit'

/** A request of a stranger, whose mutation is a plain transaction. */
export function fakeRequest<Body>(db: MemoryDb, body: Body): Request<unknown, unknown, Body> {
  return {
    id: 'request',
    params: {},
    query: {},
    body,
    principal: { kind: 'system', id: 'anonymous', name: 'anonymous', roles: new Set<Role>() },
    peerAddress: '192.0.2.1',
    signal: new AbortController().signal,
    header: () => undefined,
    page: () => ({ limit: 1, after: undefined, cursor: () => '' }),
    take: async () => undefined,
    mutate: (_target, work) => db.write((tx): Promise<Reply> => work(mutationTx(tx))),
  }
}

function mutationTx(tx: Tx): MutationTx {
  const nothing = (): void => undefined
  return { ...tx, audit: nothing, event: nothing, tell: nothing, dirty: nothing }
}
