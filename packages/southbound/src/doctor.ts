import type { Look, Settings } from '@steeple/contracts'

/** The containers of the daemons of a core, where it is driven in containers. */
export function containersOf(settings: Settings, core: 'core_a' | 'core_b'): readonly Look[] {
  if (settings.southbound.driver !== 'container') return []
  return Object.entries(settings[core].containers).map(([name, container]) => {
    const key = `${core}.containers.${name} (or southbound.driver)`
    return { name, container, key }
  })
}

/** The pages of those daemons that have a URL, which stands at `SECTION.DAEMON_url`. */
export function pagesOf(urls: Readonly<Record<string, string>>, section: string): readonly Look[] {
  const named = Object.entries(urls).filter(([, url]) => url !== '')
  return named.map(([name, url]) => ({ name, url, key: `${section}.${name}_url` }))
}
