import { constants, existsSync } from 'node:fs'
import { chmod, copyFile, link, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { inflateRaw } from 'node:zlib'
import {
  boxCallsRef,
  type Context,
  createPause,
  isRecord,
  replaceFile,
  southboundUnavailable,
} from '@steeple/contracts'
import type { GroupsConfig } from '../context.ts'
import { type Build, type BuildFolder, buildOf, distrustOf, SIGNATURE_FILE, sumOf } from './builds.ts'

/** How long one call goes on. */
const SLICE_MS = 20_000
/** A piece that takes longer than a second is halved, a faster one doubled: calls end after 10 s, and links differ a thousandfold. */
const [LEAST_OCTETS, FIRST_OCTETS, MOST_OCTETS] = [8_192, 65_536, 1_048_576]
const SLOW_MS = 1_000
const UNDER_WAY = '.fetch-'

/** From whom a build comes, and how fast at most. */
export interface Source {
  readonly hub: string
  readonly build: string
  readonly octetsPerS: number | undefined
}

/** How far it is. */
export type Fetched =
  | { readonly state: 'whole' }
  | { readonly state: 'under_way'; readonly files: number; readonly of: number }
  | { readonly state: 'refused'; readonly problem: string }

/** Gets a build from the hub, file by file: those that this box has under the same name are not asked for. */
export class Fetcher {
  readonly #context: Context<GroupsConfig>
  readonly #builds: BuildFolder
  #pieceOctets = FIRST_OCTETS

  constructor(context: Context<GroupsConfig>, builds: BuildFolder) {
    this.#context = context
    this.#builds = builds
  }

  /** Goes on with it for a while. `roots`: of builds that are here. Throws `southbound_unavailable` when the hub does not answer. */
  async step(source: Source, roots: readonly string[], signal: AbortSignal): Promise<Fetched> {
    const place = join(this.#builds.dir, `${UNDER_WAY}${source.build}`)
    await this.#removeOthers(source.build)
    const build = await this.#signature(source, place, signal)
    if ('problem' in build) return { state: 'refused', problem: build.problem }
    const until = performance.now() + SLICE_MS
    let done = 0
    const pause = createPause()
    for (const [path, sum] of build.files) {
      await pause()
      signal.throwIfAborted()
      if (!existsSync(join(place, path))) {
        if (performance.now() >= until) return { state: 'under_way', files: done, of: build.files.size }
        if (!(await takeFrom(roots, place, path, sum))) {
          const isWhole = await this.#fetch(source, join(place, path), { path, sum }, { until, signal })
          if (!isWhole) return { state: 'under_way', files: done, of: build.files.size }
        }
      }
      done += 1
    }
    await rename(place, join(this.#builds.dir, source.build))
    return { state: 'whole' }
  }

  async #removeOthers(build: string): Promise<void> {
    const names = await readdir(this.#builds.dir).catch(() => [])
    for (const name of names.filter((one) => one.startsWith(UNDER_WAY) && one !== `${UNDER_WAY}${build}`))
      await rm(join(this.#builds.dir, name), { recursive: true, force: true })
  }

  async #signature(
    { hub, build: id }: Source,
    place: string,
    signal: AbortSignal,
  ): Promise<Build | { readonly problem: string }> {
    const file = join(place, SIGNATURE_FILE)
    const there = await readFile(file, 'utf8').catch(() => undefined)
    const text = there ?? (await this.#ask(hub, `/v1/software/${id}`, signal)).signature
    const build = typeof text === 'string' ? buildOf(text) : undefined
    if (build?.id !== id)
      return { problem: 'what the root of the mesh gives for it is not that build, or nobody has signed it' }
    const problem = distrustOf(build, this.#context.config.build_keys)
    if (problem !== undefined) return { problem }
    if (there === undefined) {
      await mkdir(place, { recursive: true, mode: 0o700 })
      await replaceFile(file, String(text), { mode: 0o644 })
    }
    return build
  }

  async #ask(hub: string, path: string, signal: AbortSignal): Promise<Readonly<Record<string, unknown>>> {
    const { status, body } = await this.#context.use(boxCallsRef).call(hub, { method: 'GET', path }, signal)
    if (status !== 200 || !isRecord(body))
      throw southboundUnavailable(`the root of the mesh answered ${status} to the question for a build`)
    return body
  }

  /** Whether it is whole before the time is over. What has come of it stays. */
  async #fetch(
    { hub, build, octetsPerS }: Source,
    place: string,
    { path, sum }: { readonly path: string; readonly sum: string },
    { until, signal }: { readonly until: number; readonly signal: AbortSignal },
  ): Promise<boolean> {
    const part = `${place}.part`
    await mkdir(dirname(place), { recursive: true, mode: 0o755 })
    const file = await open(part, 'a')
    try {
      let { size: from } = await file.stat()
      for (let size = from + 1; from < size; ) {
        if (performance.now() >= until) return false
        const begun = performance.now()
        const query = `path=${encodeURIComponent(path)}&from=${from}&most=${this.#pieceOctets}`
        const answer = await this.#ask(hub, `/v1/software/${build}/octets?${query}`, signal).catch(
          (error: unknown) => {
            this.#pieceOctets = Math.max(LEAST_OCTETS, this.#pieceOctets / 2)
            throw error
          },
        )
        const { sent, octets } = await octetsIn(answer)
        size = Number(answer.size)
        await file.write(octets)
        from += octets.length
        const tookMs = performance.now() - begun
        this.#pieceOctets =
          tookMs > SLOW_MS
            ? Math.max(LEAST_OCTETS, this.#pieceOctets / 2)
            : Math.min(MOST_OCTETS, this.#pieceOctets * 2)
        if (octetsPerS !== undefined)
          await delay(Math.max(0, (sent / octetsPerS) * 1_000 - tookMs), undefined, { signal })
        if (octets.length === 0) break
      }
      await file.sync()
    } finally {
      await file.close()
    }
    if ((await sumOf(part)) !== sum) {
      await rm(part)
      throw southboundUnavailable(`${path} came otherwise than it was signed; it is asked for again`)
    }
    await finish(part, place, path)
    return true
  }
}

/** What a piece holds, and how much of it went over the link. */
async function octetsIn({ octets }: Readonly<Record<string, unknown>>): Promise<{
  readonly sent: number
  readonly octets: Uint8Array
}> {
  if (typeof octets !== 'string')
    throw southboundUnavailable('the root of the mesh gives no octets of a build')
  try {
    const packed = Buffer.from(octets, 'base64')
    return {
      sent: octets.length,
      octets: await promisify(inflateRaw)(packed, { maxOutputLength: MOST_OCTETS }),
    }
  } catch (cause) {
    throw southboundUnavailable('the root of the mesh gives octets of a build that cannot be read', { cause })
  }
}

/** Whether one of the builds here has that very file. */
async function takeFrom(
  roots: readonly string[],
  place: string,
  path: string,
  sum: string,
): Promise<boolean> {
  for (const root of roots) {
    if ((await sumOf(join(root, path))) !== sum) continue
    await mkdir(dirname(join(place, path)), { recursive: true, mode: 0o755 })
    const part = `${join(place, path)}.part`
    // The same file where it can be: nothing is ever written into one of a build.
    await rm(part, { force: true })
    await link(join(root, path), part).catch(() =>
      copyFile(join(root, path), part, constants.COPYFILE_FICLONE),
    )
    await finish(part, join(place, path), path)
    return true
  }
  return false
}

/** Its name says that it is whole. */
async function finish(part: string, place: string, path: string): Promise<void> {
  await chmod(part, path.startsWith('bin/') ? 0o755 : 0o644)
  await rename(part, place)
}
