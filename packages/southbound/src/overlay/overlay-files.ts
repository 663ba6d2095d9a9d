import { readdir, rm, rmdir } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative } from 'node:path'
import { type CoreOverlays, isServiceError, type Rendered, southboundUnavailable } from '@steeple/contracts'
import { codeOf, diskError, isSafePath, renderedOf } from '../config-set/files.ts'
import { readFiles } from '../config-set/read-set.ts'
import { stageFiles } from '../config-set/write-set.ts'
import { compared, type FitList, isYaml, merged, type Overlay, withOurs } from './overlay.ts'

/** Folder in the configuration directory with the operator's own files: what they say stays, whatever the service changes. */
const THEIRS = 'overlays'
/** Below it: what the service rendered for the same settings when it took them in. */
const RENDERED = `${THEIRS}/rendered`

/** In it: paths of ours that the operator had no file for, one a line. They are not written either. */
const ABSENT = `${RENDERED}/absent.txt`

/** In it: what `markOverlays` was given. */
const MARK = `${RENDERED}/kept.txt`

/** The operator's own in a directory. */
export interface Overlays {
  readonly files: ReadonlyMap<string, Overlay>
  /** Files of daemons that the operator does not run. */
  readonly absent: ReadonlySet<string>
}

const isEither = (path: string): boolean => isSafePath(`${RENDERED}/${path}`)

/** The overlays of a directory for those files. Throws `southbound_unavailable`. */
async function overlaysIn(dir: string, paths: Iterable<string>): Promise<Overlays> {
  const safe = [...paths].filter(isEither)
  const found = await readFiles(dir, [
    ABSENT,
    ...safe.flatMap((path) => [`${THEIRS}/${path}`, `${RENDERED}/${path}`]),
  ])
  const files = safe.flatMap((path) => {
    const theirs = found.get(`${THEIRS}/${path}`)
    const rendered = found.get(`${RENDERED}/${path}`)
    return theirs === undefined || rendered === undefined ? [] : [[path, { theirs, rendered }] as const]
  })
  return { files: new Map(files), absent: new Set((found.get(ABSENT) ?? '').split('\n')) }
}

/** Writes overlays, whole or not at all. Throws `southbound_unavailable`. */
export async function writeOverlays(dir: string, { files: overlays, absent }: Overlays): Promise<void> {
  const files = [...overlays].flatMap(([path, { theirs, rendered }]) => [
    [`${THEIRS}/${path}`, theirs] as const,
    [`${RENDERED}/${path}`, rendered] as const,
  ])
  await written(dir, new Map([...files, [ABSENT, [...absent].join('\n')]]))
}

async function written(dir: string, files: ReadonlyMap<string, string | undefined>): Promise<void> {
  const staged = await stageFiles(dir, files)
  try {
    await staged.commit()
  } finally {
    await staged.abandon()
  }
}

/** The paths of all overlays of a directory, whatever they are for. Throws `southbound_unavailable`. */
async function overlayPaths(dir: string): Promise<readonly string[]> {
  const found = await filesBelow(dir, RENDERED)
  return found.filter((path) => ![ABSENT, MARK].includes(`${RENDERED}/${path}`))
}

/** Paths of all files of a folder, relative to it; none where it is not there. Throws `southbound_unavailable`. */
async function filesBelow(dir: string, folder: string): Promise<readonly string[]> {
  const root = join(dir, folder)
  try {
    const found = await readdir(root, { recursive: true, withFileTypes: true })
    return found
      .flatMap((one) => (one.isDirectory() ? [] : [relative(root, join(one.parentPath, one.name))]))
      .toSorted()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw diskError(dir, error)
  }
}

/** All overlays of a directory as one text, and the mark beside them. Throws `southbound_unavailable`. */
export async function keptOverlays(dir: string): Promise<Pick<CoreOverlays, 'text' | 'mark'>> {
  const { files, absent } = await overlaysIn(dir, await overlayPaths(dir))
  const mark = (await readFiles(dir, [MARK])).get(MARK)
  const all = { files: Object.fromEntries(files), absent: [...absent].filter((path) => path !== '') }
  return { text: files.size === 0 ? '' : JSON.stringify(all), mark }
}

/** Marks the overlays of a directory; with `text` they become as `keptOverlays` gave them. Throws `southbound_unavailable`. */
export async function markOverlays(dir: string, mark: string, text: string | undefined): Promise<void> {
  const files = new Map<string, string | undefined>([[MARK, mark]])
  if (text !== undefined) {
    for (const path of await overlayPaths(dir))
      for (const folder of [THEIRS, RENDERED]) files.set(`${folder}/${path}`, undefined)
    const kept = JSON.parse(text) as OverlaysText // `keptOverlays` made it
    for (const [path, { theirs, rendered }] of Object.entries(kept.files)) {
      files.set(`${THEIRS}/${path}`, theirs)
      files.set(`${RENDERED}/${path}`, rendered)
    }
    files.set(ABSENT, kept.absent.join('\n'))
  }
  await written(dir, files)
}

interface OverlaysText {
  readonly files: Readonly<Record<string, Overlay>>
  readonly absent: readonly string[]
}

/** Whether a path is one below the folder of overlays. */
export function isOverlay(path: string): boolean {
  return path.startsWith(`${THEIRS}/`)
}

/** Paths in the folder of overlays. */
interface OverlaysLeft {
  /** Those with lines that nobody has in `originals`, nor this service wrote: their content. */
  readonly edited: ReadonlyMap<string, string>
  /** Those that this service did not make. */
  readonly left: readonly string[]
}

/** What an operator has in the folder of overlays that is not in these sets. Throws `southbound_unavailable`. */
export async function overlaysLeft(
  dir: string,
  originals: readonly ReadonlyMap<string, string>[],
): Promise<OverlaysLeft> {
  const { files } = await overlaysIn(dir, await overlayPaths(dir))
  const edited = [...files].filter(
    ([path, overlay]) => !originals.some((set) => isAsTaken(path, overlay, set.get(path))),
  )
  const there = await filesBelow(dir, THEIRS)
  return {
    edited: new Map(edited.map(([path, { theirs }]) => [`${THEIRS}/${path}`, theirs])),
    left: there
      .filter((path) => !path.startsWith('rendered/') && !files.has(path))
      .map((path) => `${THEIRS}/${path}`),
  }
}

/** Whether an overlay is that file, but for lines that this service was asked to write. */
function isAsTaken(path: string, { theirs, rendered }: Overlay, original: string | undefined): boolean {
  if (original === undefined || original === theirs) return original !== undefined
  if (!isYaml(path)) return false
  try {
    const left = new Set(compared(theirs, rendered).differences.map(({ key }) => key))
    const written = compared(original, rendered).differences.filter(({ key }) => !left.has(key))
    const keys = written.map(({ key }) => key)
    return withOurs({ theirs: original, rendered }, keys) === theirs
  } catch {
    return false // one that cannot be read was edited
  }
}

/** Takes overlays out of use and away; what this service did not make stays. Throws `southbound_unavailable`. */
export async function dropOverlays(dir: string): Promise<void> {
  const paths = await overlayPaths(dir)
  await written(dir, new Map(paths.map((path) => [`${THEIRS}/${path}`, undefined])))
  await rm(join(dir, RENDERED), { recursive: true, force: true })
  const folders = new Set(paths.map((path) => dirname(`${THEIRS}/${path}`)).concat(THEIRS))
  // The innermost first; one with something in it stays.
  for (const folder of [...folders].toSorted().toReversed())
    await rmdir(join(dir, folder)).catch(() => undefined)
}

/**
 * A rendered set with the operator's overlays in it. A file that no other one names any more is left out: where an operator's
 * file names one of its own instead, ours would be read by nobody.
 *
 * Throws `southbound_unavailable` for an overlay that is no YAML, and what `fitOf` throws.
 */
export async function overlaid(
  dir: string,
  rendered: Rendered,
  fitOf?: (theirs: ReadonlyMap<string, string>) => FitList | undefined,
): Promise<Rendered> {
  if (!isAbsolute(dir)) return rendered
  const overlays = await overlaysIn(dir, rendered.files.keys())
  if (overlays.files.size === 0) return rendered
  const theirs = new Map([...overlays.files].map(([path, overlay]) => [path, overlay.theirs]))
  return withOverlays(rendered, overlays, fitOf?.(theirs))
}

/** The set as `overlaid` gives it, with these. */
export function withOverlays(
  { files }: Rendered,
  { files: overlays, absent }: Overlays,
  fit?: FitList,
): Rendered {
  const all = new Map(
    [...files].flatMap(([path, content]) =>
      absent.has(path) ? [] : [[path, mergedFile(path, overlays.get(path), content, fit)] as const],
    ),
  )
  const mains = (set: ReadonlyMap<string, string>) =>
    [...set].flatMap(([path, content]) => (isYaml(path) ? [content] : []))
  const isLeftOut = (path: string): boolean => {
    if (isYaml(path) || overlays.has(path)) return false
    // What is rendered is quoted.
    const names = mains(files).flatMap((content) =>
      content.split('"').filter((text) => text.endsWith(`/${path}`)),
    )
    return names.length > 0 && !mains(all).some((content) => names.some((name) => content.includes(name)))
  }
  return renderedOf(new Map([...all].filter(([path]) => !isLeftOut(path))))
}

function mergedFile(
  path: string,
  overlay: Overlay | undefined,
  content: string,
  fit: FitList | undefined,
): string {
  if (overlay === undefined) return content
  try {
    return merged(path, overlay, content, fit)
  } catch (cause) {
    if (isServiceError(cause)) throw cause
    const words = cause instanceof Error ? cause.message : String(cause)
    throw southboundUnavailable(`the overlay ${THEIRS}/${path} cannot be read: ${words}`, { cause })
  }
}

/** Keys of the operator's own, file by file: those that this service does not write, and those that it would write otherwise. */
export async function overlayKeys(
  dir: string,
  paths: Iterable<string>,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { files } = await overlaysIn(dir, paths)
  return new Map([...files].map(([path, overlay]) => [path, isYaml(path) ? keysOf(overlay) : []]))
}

function keysOf({ theirs, rendered }: Overlay): readonly string[] {
  const { differences, kept } = compared(theirs, rendered)
  return [...kept, ...differences.map(({ key }) => key)]
}
