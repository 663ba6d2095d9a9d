import type { Client } from '@steeple/client'
import type { ComponentType } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { api } from '../api/client.ts'
import { plugins } from '../api/features.ts'
import { may, type Role } from '../api/session.ts'
import { locale, t } from '../text/index.ts'
import { iconOf } from '../ui/icon.tsx'
import { EmptyState } from '../ui/parts.tsx'
import { GROUPS } from './groups.ts'
import type { Page, PageProps } from './pages.ts'

/** What the module of a plugin's page exports: draws, and gives back how to take it away. */
type Mount = (
  root: HTMLElement,
  place: PageProps & { readonly client: Client; readonly locale: string },
) => (() => void) | undefined

/** A module of a plugin: a page is a component of the kit, or draws by itself. */
interface PluginModule {
  readonly Page?: ComponentType<PageProps>
  readonly mount?: Mount
}

const ROLES = ['viewer', 'operator', 'sim:issuer', 'sim:admin', 'admin'] as const

function roleOf(told: string): Role | undefined {
  return ROLES.find((one) => one === told)
}

/** The pages that plugins add, as the menu has all pages. They come and go with their plugins. */
export function pagesOfPlugins(): readonly Page[] {
  return (plugins.value ?? []).flatMap(({ pages, version }) =>
    pages.flatMap(({ title, role: named, group: under, icon = '', module, ...told }) => {
      const role = roleOf(named)
      const group = GROUPS.find((one) => one === under)
      if (role === undefined) return []
      return [
        {
          ...told,
          ...{ role, title: { text: title[locale().slice(0, 2)] ?? title.en ?? '' } },
          ...(group === undefined ? {} : { group, icon: iconOf(icon) }),
          load: async () => pageOf(await load<PluginModule>(module, version)),
        },
      ]
    }),
  )
}

const loaded = new Map<string, Promise<unknown>>()

/** The same module each time: a component of another one would be drawn anew. Another version of the plugin has another one. */
function load<Module>(module: string, version: string): Promise<Module> {
  // Behind # it is asked for at the same place.
  const address = `${module}#${version}`
  const known = loaded.get(address) ?? import(/* @vite-ignore */ address)
  loaded.set(address, known)
  known.catch(() => loaded.delete(address))
  // What a module exports is its plugin's promise.
  return known as Promise<Module>
}

const drawn = new WeakMap<PluginModule, { readonly Page: ComponentType<PageProps> }>()

function pageOf(own: PluginModule): { readonly Page: ComponentType<PageProps> } {
  const known = drawn.get(own) ?? { Page: own.Page ?? drawnBy(own.mount ?? (() => undefined)) }
  drawn.set(own, known)
  return known
}

function drawnBy(mount: Mount) {
  return function PluginPage({ params }: PageProps) {
    const root = useRef<HTMLDivElement>(null)
    const [problem, setProblem] = useState<string>()
    useEffect(() => {
      if (root.current === null) return undefined
      try {
        return mount(root.current, { client: api, params, locale: locale() })
      } catch (error) {
        setProblem(String(error))
        return undefined
      }
    }, [])
    return (
      <>
        <div ref={root} />
        {problem === undefined ? null : <EmptyState title={t('app.pluginFailed')}>{problem}</EmptyState>}
      </>
    )
  }
}
/** What plugins export for a place on a page, in their order; what could not be loaded is not among it. Undefined until it is known. */
export function usePanels<Panel>(on: string): readonly Panel[] | undefined {
  const told = (plugins.value ?? [])
    .flatMap(({ panels, version }) => panels.map((panel) => ({ ...panel, version })))
    .filter((panel) => panel.on === on && may(roleOf(panel.role) ?? 'admin'))
    .sort((one, other) => (one.place ?? LAST) - (other.place ?? LAST))
  const key = plugins.value && JSON.stringify(told)
  const [found, setFound] = useState<readonly Panel[]>()
  useEffect(() => {
    if (key === undefined) return undefined
    let isOver = false
    void Promise.allSettled(told.map(({ module, version }) => load<Panel>(module, version))).then((all) => {
      if (!isOver) setFound(all.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])))
    })
    return () => {
      isOver = true
    }
  }, [key])
  return found
}

const LAST = 1000

/** What plugins show at a place on a page, each given what the page knows there. */
export function Panels<Props extends object>({ on, ...props }: Props & { readonly on: string }) {
  return (
    <>
      {usePanels<{ readonly Panel: ComponentType<Omit<Props & { readonly on: string }, 'on'>> }>(on)?.map(
        ({ Panel }, index) => (
          <Panel key={String(index)} {...props} />
        ),
      )}
    </>
  )
}
