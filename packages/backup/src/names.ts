/** `svc-backup-<node>-<time>.tar.gz`, with `.enc` behind it for an encrypted one. The time is UTC. */
export function backupName(node: string, takenAtMs: number, isEncrypted: boolean): string {
  const time = new Date(takenAtMs).toISOString().replaceAll(/[-:]|\.\d+/g, '')
  const plain = node.replaceAll(/[^A-Za-z0-9._-]+/g, '-')
  return `svc-backup-${plain}-${time}.tar.gz${isEncrypted ? '.enc' : ''}`
}

const TIME = /-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.tar\.gz(\.enc)?$/

/** When a backup was taken by its name, ms since the epoch; undefined for another file. */
export function takenAt(name: string): number | undefined {
  if (!name.startsWith('svc-backup-')) return undefined
  const parts = TIME.exec(name)
  if (parts === null) return undefined
  const [, year, month, day, hour, minute, second] = parts.map(Number)
  return Date.UTC(year ?? 0, (month ?? 1) - 1, day, hour, minute, second)
}
