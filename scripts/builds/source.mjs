// What a build is made from: the commit, and its time as that of all that is made of it.
import { spawnSync } from 'node:child_process'
import { root } from '../workspace.mjs'

/**
 * `{commit, date, epoch}`: the commit, with `+changes` when files differ from it, its time in RFC 3339 and in seconds.
 * SOURCE_DATE_EPOCH says another time, and the only one of a copy without history.
 */
export function stateOfSource() {
  const commit = git('rev-parse', 'HEAD')
  const isChanged = commit !== undefined && git('status', '--porcelain', '--untracked-files=no') !== ''
  const epoch = Number(process.env.SOURCE_DATE_EPOCH ?? git('log', '-1', '--format=%ct') ?? 0)
  const date = new Date(epoch * 1000).toISOString().replace('.000Z', 'Z')
  return { commit: commit === undefined ? 'unknown' : `${commit}${isChanged ? '+changes' : ''}`, date, epoch }
}

function git(...args) {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}
