/**
 * The value of a gauge without labels in a page of metrics, undefined when it is not there.
 *
 * Source: Prometheus text exposition format 0.0.4.
 */
export function gaugeIn(page: string, name: string): number | undefined {
  for (const line of page.split('\n')) {
    if (!line.startsWith(`${name} `)) continue
    const value = Number(line.slice(name.length + 1).split(' ')[0])
    return Number.isFinite(value) ? value : undefined
  }
  return undefined
}
