import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/** Who may use a file that is written. */
export interface FileAccess {
  /** The bits as they will be, whatever the umask is. Left out: 0600, for its owner alone. */
  readonly mode?: number
  /** Set as far as this process may. */
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined
}

/** What a file is to hold. */
type Content = string | Uint8Array

/** How a file is named until it is whole: `.<name>.<process>-<random>.tmp`, beside its place. */
const DRAFT = /^\.(.+)\.(\d+)-([0-9a-f]{8})\.tmp$/
/** File systems without hard links answer one of these. */
const NO_LINK_CODES: readonly string[] = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']
/** Drafts that this process is writing now, by their random part. */
const underWay = new Set<string>()

/**
 * *Replaced*: writes a file, whether there is one or not. At any time, a kill and a power cut included, its name leads to the old content
 * or to the new, whole; it is durable when this resolves. A link in its place is replaced, not followed. What a killed writer of this file left
 * is removed.
 */
export async function replaceFile(
  path: string,
  content: Content | AsyncIterable<Uint8Array>,
  access: FileAccess = {},
): Promise<void> {
  await withDraft(path, async (draft) => {
    await writeNewFile(draft, content, access)
    await rename(draft, path)
    await syncFolder(dirname(path))
  })
}

/** `replaceFile` for code that cannot wait. `before` is called when the new content is on the disk; when it throws, the old file stays. */
export function replaceFileSync(
  path: string,
  content: Content,
  access: FileAccess & { readonly before?: () => void } = {},
): void {
  removeDrafts(dirname(path), basename(path))
  withDraftSync(path, (draft) => {
    writeDraftSync(draft, content, access)
    access.before?.()
    fs.renameSync(draft, path)
  })
  syncFolderSync(dirname(path))
}

/**
 * *Created once*: writes a file unless there is one, and says whether it did. Whole or absent at any time, durable when it returns. Of two
 * processes that do it at once, one does.
 */
export function createFileSync(path: string, content: Content, access: FileAccess = {}): boolean {
  const isMade = withDraftSync(path, (draft) => {
    writeDraftSync(draft, content, access)
    try {
      fs.linkSync(draft, path)
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false
      if (!NO_LINK_CODES.includes(codeOf(error))) throw error
      if (fs.lstatSync(path, { throwIfNoEntry: false }) !== undefined) return false
      fs.renameSync(draft, path)
    }
    return true
  })
  if (isMade) syncFolderSync(dirname(path))
  return isMade
}

/**
 * *New*: writes a file that is not there; what it holds is durable when this resolves, its name is after `syncFolder`. A kill can leave
 * a part of it: for a folder that only counts once it is renamed. Throws EEXIST.
 */
export async function writeNewFile(
  path: string,
  content: Content | AsyncIterable<Uint8Array>,
  { mode = 0o600, owner }: FileAccess = {},
): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(content)
    if (owner !== undefined) await file.chown(owner.uid, owner.gid).catch(() => undefined)
    await file.chmod(mode)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Makes the names in a folder durable. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** `syncFolder` for code that cannot wait. */
export function syncFolderSync(path: string): void {
  const folder = fs.openSync(path, 'r')
  try {
    fs.fsyncSync(folder)
  } finally {
    fs.closeSync(folder)
  }
}

/** Whether a name is one of a file that is being written, or was when its writer was killed. */
export function isDraft(name: string): boolean {
  return DRAFT.test(name)
}

/** Removes what killed writers left in a folder, of one file or of all. Drafts of writers that live stay. */
export function removeDrafts(folder: string, file?: string): void {
  for (const name of namesIn(folder)) {
    const [, of, pid, id] = DRAFT.exec(name) ?? []
    if (of === undefined || (file !== undefined && of !== file)) continue
    const isOurs = Number(pid) === process.pid
    if (isOurs ? !underWay.has(String(id)) : !isAlive(Number(pid)))
      fs.rmSync(join(folder, name), { force: true })
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return fs.readdirSync(folder)
  } catch {
    // One that may be written and not listed, or is absent: the write says so.
    return []
  }
}

function writeDraftSync(path: string, content: Content, { mode = 0o600, owner }: FileAccess): void {
  const file = fs.openSync(path, 'wx', 0o600)
  try {
    fs.writeFileSync(file, content)
    if (owner !== undefined) chownIfAllowed(file, owner)
    fs.fchmodSync(file, mode)
    fs.fsyncSync(file)
  } finally {
    fs.closeSync(file)
  }
}

function chownIfAllowed(file: number, { uid, gid }: { readonly uid: number; readonly gid: number }): void {
  try {
    fs.fchownSync(file, uid, gid)
  } catch {
    // Only root gives files away; who may write here owns what they make.
  }
}

async function withDraft(path: string, use: (draft: string) => Promise<void>): Promise<void> {
  removeDrafts(dirname(path), basename(path))
  const { id, draft } = newDraft(path)
  try {
    await use(draft)
  } finally {
    underWay.delete(id)
    await rm(draft, { force: true })
  }
}

function withDraftSync<T>(path: string, use: (draft: string) => T): T {
  const { id, draft } = newDraft(path)
  try {
    return use(draft)
  } finally {
    underWay.delete(id)
    fs.rmSync(draft, { force: true })
  }
}

function newDraft(path: string): { readonly id: string; readonly draft: string } {
  const id = randomBytes(4).toString('hex')
  underWay.add(id)
  return { id, draft: join(dirname(path), `.${basename(path)}.${process.pid}-${id}.tmp`) }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | undefined)?.code)
}
