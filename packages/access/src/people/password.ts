import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { overLimit } from '@steeple/contracts'

/** What one hash costs. RFC 7914 §2. */
export interface ScryptCost {
  /** A power of two. */
  readonly n: number
  readonly r: number
  readonly p: number
}

/**
 * 32 MiB and about a third of a second of one core: as much work as N = 2^17, p = 1 with a quarter of the memory, which a
 * small box has to spare. OWASP Password Storage Cheat Sheet, scrypt.
 */
const SCRYPT_COST: ScryptCost = { n: 32_768, r: 8, p: 3 }

const SALT_BYTES = 16
const HASH_BYTES = 32
/** As `hashPassword` writes it, in the form of PHC strings. */
const FORM = /^\$scrypt\$n=(\d{1,8}),r=(\d{1,3}),p=(\d{1,3})\$([\w-]{22})\$([\w-]{43})$/

interface Parsed {
  readonly cost: ScryptCost
  readonly salt: Buffer
  readonly hash: Buffer
}

/** Whether a password is right, and whether its hash is of another cost than new ones. */
interface PasswordVerdict {
  readonly isRight: boolean
  readonly isOutdated: boolean
}

/** The hash of a password with its salt and cost: `$scrypt$n=…,r=…,p=…$<salt>$<hash>`. */
export async function hashPassword(password: string, cost: ScryptCost): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  const hash = await derive(password, salt, cost)
  const { n, r, p } = cost
  return `$scrypt$n=${n},r=${r},p=${p}$${salt.toString('base64url')}$${hash.toString('base64url')}`
}

/**
 * Checks a password. Without a stored hash, and for one of a lower cost, it does as much work as for one of `cost`: a
 * name that nobody has takes as long as one that somebody has.
 */
export async function checkPassword(
  password: string,
  stored: string | undefined,
  cost: ScryptCost,
): Promise<PasswordVerdict> {
  const parsed = stored === undefined ? undefined : parse(stored)
  const {
    salt,
    hash,
    cost: own,
  } = parsed ?? { salt: Buffer.alloc(SALT_BYTES), hash: Buffer.alloc(HASH_BYTES), cost }
  const derived = await derive(password, salt, own)
  const isSame = timingSafeEqual(derived, hash)
  const restP = Math.floor(workOf(cost) / (own.n * own.r)) - own.p
  if (restP > 0) await derive(password, salt, { ...own, p: restP })
  return {
    isRight: isSame && parsed !== undefined,
    isOutdated: own.n !== cost.n || own.r !== cost.r || own.p !== cost.p,
  }
}

/** A password that nobody guesses: 20 letters and digits in groups, about 100 bits. */
export function drawPassword(): string {
  const letters = 'abcdefghjkmnpqrstuvwxyz23456789'
  const draw = (): string => {
    for (;;) {
      const [octet = 0] = randomBytes(1)
      const letter = octet < letters.length * 8 ? letters[octet % letters.length] : undefined
      if (letter !== undefined) return letter
    }
  }
  const group = (): string => Array.from({ length: 5 }, draw).join('')
  return Array.from({ length: 4 }, group).join('-')
}

function workOf({ n, r, p }: ScryptCost): number {
  return n * r * p
}

function parse(stored: string): Parsed | undefined {
  const [, n, r, p, salt, hash] = FORM.exec(stored) ?? []
  if (salt === undefined || hash === undefined) return undefined
  return {
    cost: { n: Number(n), r: Number(r), p: Number(p) },
    salt: Buffer.from(salt, 'base64url'),
    hash: Buffer.from(hash, 'base64url'),
  }
}

/** Runs in the thread pool. One text has one form: what looks alike on two keyboards is the same password (RFC 8265 §4). */
function derive(password: string, salt: Buffer, { n, r, p }: ScryptCost): Promise<Buffer> {
  const maxmem = 256 * r * (n + p)
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFKC'), salt, HASH_BYTES, { N: n, r, p, maxmem }, (error, hash) => {
      if (error === null) resolve(hash)
      else reject(error)
    })
  })
}

/** Who wants to have a password checked. */
interface Visitor {
  readonly network: string
  /** Has been here before: let in ahead of strangers, however many there are. */
  readonly isKnown: boolean
}

/** Bounds how much of the machine passwords may use. */
export interface PasswordGate {
  /** What a new hash costs. */
  readonly cost: ScryptCost
  /** Runs `work` when there is room. Throws `rate_limited` when too many wait, of this network or of all. */
  run<T>(visitor: Visitor, work: () => Promise<T>): Promise<T>
}

/** Bounds of the gate. */
interface GateLimits {
  /** At work at a time: the thread pool has four threads, and the disk needs some. */
  readonly most: number
  /** Strangers who wait at a time, and likewise known ones. */
  readonly mostWaiting: number
  /** Of them of one network, so that one cannot take all places. */
  readonly mostOfNetwork: number
}

/** Two passwords at a time use 64 MiB and two threads; who waits behind 24 others waits about four seconds. */
export const GATE_LIMITS: GateLimits = { most: 2, mostWaiting: 24, mostOfNetwork: 6 }
const RETRY_S = 5

interface Waiting {
  readonly network: string
  readonly begin: () => void
}

/** A gate. Known visitors before strangers, and of each who came first. */
export function createPasswordGate(
  limits: GateLimits = GATE_LIMITS,
  cost: ScryptCost = SCRYPT_COST,
): PasswordGate {
  const known: Waiting[] = []
  const strangers: Waiting[] = []
  let running = 0
  const leave = (): void => {
    const next = known.shift() ?? strangers.shift()
    if (next === undefined) running -= 1
    else next.begin()
  }
  const enter = ({ network, isKnown }: Visitor): Promise<void> => {
    if (running < limits.most) {
      running += 1
      return Promise.resolve()
    }
    const queue = isKnown ? known : strangers
    const ofNetwork = queue.filter((one) => one.network === network)
    if (queue.length >= limits.mostWaiting || ofNetwork.length >= limits.mostOfNetwork) {
      const limit = { name: 'logins', limit: limits.mostWaiting, windowS: RETRY_S, resetS: RETRY_S }
      throw overLimit('too many people log in at this moment; try again', limit)
    }
    return new Promise((resolve) => {
      queue.push({ network, begin: resolve })
    })
  }
  return {
    cost,
    run: async (visitor, work) => {
      await enter(visitor)
      try {
        return await work()
      } finally {
        leave()
      }
    },
  }
}
