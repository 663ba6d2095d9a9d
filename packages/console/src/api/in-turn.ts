/** Used cookies end the session, so the tabs of a browser take turns. */
const NAME = 'steeple-refresh'
/** A tab that is gone has its turn no longer than that, ms. */
const LONGEST_MS = 5_000
/** In which what another tab writes is seen, ms. */
const SETTLED_MS = 60
/** Whose turn it is. */
const me = Math.random().toString(36).slice(2)

/** Does something while no other tab of this browser does it. */
export function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
  return navigator.locks === undefined ? byStorage(work) : navigator.locks.request(NAME, work)
}

/** The same from afar without TLS, where there are no locks: who wrote last, and is still there a moment later, has the turn. */
async function byStorage<Result>(work: () => Promise<Result>): Promise<Result> {
  addEventListener('pagehide', giveUp)
  do {
    if (!isTaken()) localStorage.setItem(NAME, `${me} ${Date.now() + LONGEST_MS}`)
    await new Promise((done) => setTimeout(done, SETTLED_MS))
  } while (holder().who !== me)
  try {
    return await work()
  } finally {
    removeEventListener('pagehide', giveUp)
    giveUp()
  }
}

function giveUp(): void {
  if (holder().who === me) localStorage.removeItem(NAME)
}

function isTaken(): boolean {
  const { who, untilMs } = holder()
  // A clock that was put back makes no turn longer.
  return who !== '' && untilMs > Date.now() && untilMs <= Date.now() + LONGEST_MS
}

function holder(): { readonly who: string; readonly untilMs: number } {
  const [who = '', until] = (localStorage.getItem(NAME) ?? '').split(' ')
  return { who, untilMs: Number(until) }
}
