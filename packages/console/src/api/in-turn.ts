/** Used cookies end the session, so the tabs of a browser take turns. */
const NAME = 'steeple-refresh'
/** A tab that is gone has its turn no longer than that, ms. */
const LONGEST_MS = 5_000
/** Before a tab asks again whether it is its turn, ms. */
const AGAIN_MS = 50
/** Whose turn it is. */
const me = Math.random().toString(36).slice(2)

interface Turn {
  readonly who: string
  readonly untilMs: number
}

/**
 * Does something while no other tab of this browser does it: a transaction of the browser's database is in no other tab at once.
 * The turn outlives its page, unlike a lock: the request of a page that is loaded again is still under way. A browser that keeps
 * nothing for this page has no second tab that would know of its session.
 */
export async function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
  const database = await opened().catch(() => undefined)
  if (database === undefined) return work()
  const giveUp = (): Promise<boolean> => changed(database, (turn) => (isMine(turn) ? undefined : turn))
  // A turn lasts as long as its work, however slow the service is.
  const stays = setInterval(() => void changed(database, taken).catch(() => undefined), LONGEST_MS / 5)
  try {
    // A database that fails later holds nobody up either.
    while (!(await changed(database, taken).catch(() => true)))
      await new Promise((done) => setTimeout(done, AGAIN_MS))
    return await work()
  } finally {
    clearInterval(stays)
    await giveUp().catch(() => undefined)
    database.close()
  }
}

function opened(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const asked = indexedDB.open(NAME, 1)
    asked.onupgradeneeded = () => asked.result.createObjectStore(NAME)
    asked.onsuccess = () => resolve(asked.result)
    asked.onerror = () => reject(asked.error)
  })
}

/** Writes whose turn it is from now on, undefined for nobody's, in one transaction; gives whether it is this tab's then. */
function changed(
  database: IDBDatabase,
  next: (turn: Turn | undefined) => Turn | undefined,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const transaction = database.transaction(NAME, 'readwrite')
    const store = transaction.objectStore(NAME)
    const read: IDBRequest<Turn | undefined> = store.get(NAME)
    let turn: Turn | undefined
    read.onsuccess = () => {
      turn = next(read.result)
      if (turn === undefined) store.delete(NAME)
      else if (turn !== read.result) store.put(turn, NAME)
    }
    transaction.oncomplete = () => resolve(isMine(turn))
    transaction.onabort = () => reject(transaction.error)
  })
}

/** This tab's, where it is nobody else's. A clock that was put back makes no turn longer. */
function taken(turn: Turn | undefined): Turn {
  const now = Date.now()
  const isOthers =
    turn !== undefined && !isMine(turn) && turn.untilMs > now && turn.untilMs <= now + LONGEST_MS
  return isOthers ? turn : { who: me, untilMs: now + LONGEST_MS }
}

function isMine(turn: Turn | undefined): boolean {
  return turn?.who === me
}
