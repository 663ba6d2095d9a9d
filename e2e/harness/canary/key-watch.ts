import crypto, { createECDH } from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { bytesNeedle, type Needle } from './needles.ts'

/** Notices the keys that this process agrees on and uses while a phone downloads in it. */
export interface KeyWatch {
  /** One-time private keys, shared secrets, and keys of AES: of the session and of the profile. */
  needles(): readonly Needle[]
  stop(): void
}

/** Begins to notice. Whatever else of this process uses ECDH or AES is noticed too. */
export function watchKeys(): KeyWatch {
  const seen = new Map<string, Needle>()
  const note = (name: string, octets: Buffer): void => {
    seen.set(`${name} ${octets.toString('hex')}`, bytesNeedle(name, octets))
  }
  const agreements = Object.getPrototypeOf(createECDH('prime256v1'))
  const { computeSecret } = agreements
  agreements.computeSecret = function agree(this: crypto.ECDH, ...given: readonly unknown[]) {
    note('a one-time key', this.getPrivateKey())
    const secret: Buffer = computeSecret.apply(this, given)
    // Whoever asked may wipe it.
    note('a shared secret', Buffer.from(secret))
    return secret
  }
  const { createCipheriv, createDecipheriv } = crypto
  const noting = <Make extends (...given: never[]) => unknown>(make: Make): Make =>
    ((...given: Parameters<Make>) => {
      const key: unknown = given[1]
      if (key instanceof Uint8Array && key.some((octet) => octet !== 0))
        note('a session key', Buffer.from(key))
      return make(...given)
    }) as unknown as Make
  const put = (made: Partial<typeof crypto>): void => {
    Object.assign(crypto, made)
    syncBuiltinESMExports()
  }
  put({ createCipheriv: noting(createCipheriv), createDecipheriv: noting(createDecipheriv) })
  return {
    needles: () => [...seen.values()],
    stop: () => {
      agreements.computeSecret = computeSecret
      put({ createCipheriv, createDecipheriv })
    },
  }
}
