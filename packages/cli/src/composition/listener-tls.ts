import { createHash } from 'node:crypto'
import type { EdgeTls, TlsMaterial } from '@steeple/api'
import {
  type ComponentHealth,
  configInvalid,
  type Log,
  type MeshIdentity,
  meshIdentityRef,
} from '@steeple/contracts'
import type { Kernel } from '@steeple/kernel'
import type { Secrets } from '@steeple/secrets'
import { type CertificateFiles, readCertificateFiles } from '@steeple/settings'
import { certificateStanding } from './certificate-standing.ts'

/** How often the given files are looked at: notices of changes get lost where folders are links that are replaced. */
const LOOK_MS = 5_000

/** The listener's TLS, and how to stop looking at its files. */
export interface ListenerTls extends EdgeTls {
  close(): void
  /** One component, `listener`: degraded a week before what it presents ends, and while its files cannot be used. */
  health(nowMs: number): readonly ComponentHealth[]
}

/** What of the kernel says what to present. */
export type ListenerKernel = Pick<Kernel, 'settings' | 'onSettings' | 'service'> & { readonly log: Log }

/**
 * What the listener presents: `tls.cert_file` where it is set, otherwise (and always to other boxes) the certificate that
 * this node has from its mesh; and whom it believes. Files that are damaged or half written leave what was there before.
 *
 * Throws `config_invalid` when the files cannot be used at the start.
 */
export function listenerTls(kernel: ListenerKernel, secrets: Pick<Secrets, 'tls' | 'caPem'>): ListenerTls {
  const listeners = new Set<() => void>()
  let material = materialNow(kernel, secrets)
  let complaint: string | undefined
  const look = (): void => {
    try {
      const now = materialNow(kernel, secrets)
      complaint = undefined
      if (digestOf(now) === digestOf(material)) return
      material = now
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error)
      if (problem !== complaint)
        kernel.log.error({ problem }, 'the listener keeps the certificate that it has')
      complaint = problem
      return
    }
    kernel.log.info({}, 'the listener presents another certificate')
    for (const listener of listeners) listener()
  }
  const unfollow = identityOf(kernel)?.onChange(look)
  kernel.onSettings(look)
  const timer = setInterval(look, LOOK_MS).unref()
  return {
    minVersion: kernel.settings.tls.min_version,
    material: () => material,
    onChange: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    health: (nowMs) => {
      const problem = complaint ?? problemOf(kernel, material, nowMs)
      const status = problem === undefined ? 'ok' : 'degraded'
      return [
        {
          name: 'listener',
          kind: 'feature',
          required: false,
          status,
          detail: problem ?? 'what it presents is good',
        },
      ]
    },
    close: () => {
      clearInterval(timer)
      unfollow?.()
    },
  }
}

/** Of people and of other boxes: what is presented to either may end. */
function problemOf(kernel: ListenerKernel, { cert, mesh }: TlsMaterial, nowMs: number): string | undefined {
  const file = kernel.settings.tls.cert_file
  const ofMesh = [
    'the certificate of its mesh',
    mesh?.cert ?? cert,
    'the service renews it by itself',
  ] as const
  const shown = mesh === undefined ? [ofMesh] : [[file, cert, 'renew it'] as const, ofMesh]
  for (const [name, pem, remedy] of shown) {
    const { state, leftDays, validFrom } = certificateStanding(pem, nowMs)
    if (state === 'early') return `${name} is good from ${validFrom} on; check the clock`
    if (state === 'expired') return `${name} has expired; ${remedy}`
    if (state === 'ending') return `${name} ends in ${leftDays} days; ${remedy}`
  }
  return undefined
}

function identityOf(kernel: ListenerKernel): MeshIdentity | undefined {
  return kernel.service(meshIdentityRef)
}

/** Throws `config_invalid`. */
function materialNow(kernel: ListenerKernel, secrets: Pick<Secrets, 'tls' | 'caPem'>): TlsMaterial {
  const files = filesNow(kernel)
  const identity = identityOf(kernel)
  const nodesCa = identity?.membership()?.caPem ?? secrets.caPem
  const { key, cert } = identity?.tls() ?? secrets.tls()
  // Who joins is given the hash of the CA and no more: the CA goes out with the certificate.
  const ofMesh = { key, cert: chainOf(cert, nodesCa) }
  const cas = { nodesCa, operatorsCa: secrets.caPem }
  return files === undefined ? { ...ofMesh, ...cas } : { ...files, mesh: ofMesh, ...cas }
}

function filesNow(kernel: ListenerKernel): CertificateFiles | undefined {
  const { cert_file, key_file } = kernel.settings.tls
  if (cert_file === '') return undefined
  const read = readCertificateFiles(cert_file, key_file)
  if ('file' in read) throw configInvalid(`tls.${read.file} ${read.message}`)
  return read
}

function chainOf(cert: string, ca: string): string {
  return cert.includes(ca.trim()) ? cert : `${cert.trimEnd()}\n${ca}`
}

/** What is compared without keeping a second copy of a key. */
function digestOf(material: TlsMaterial): string {
  return createHash('sha256').update(JSON.stringify(material)).digest('hex')
}
