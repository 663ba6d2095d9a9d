import type { AnswerOf } from '@steeple/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import { api } from '../api/client.ts'
import { pluginPages } from '../api/features.ts'
import { locale, t } from '../text/index.ts'
import { EmptyState } from '../ui/empty-state.tsx'
import { GROUPS } from './groups.ts'
import type { Page, PageProps } from './pages.ts'

/** What a plugin says of a page of its own. */
type Told = AnswerOf<'GET', '/v1/version'>['plugins'][number]['pages'][number]

/** What the module of a plugin's page exports: draws, and gives back how to take it away. */
interface PluginModule {
  readonly mount: (root: HTMLElement, place: object) => (() => void) | undefined
}

const ROLES = ['viewer', 'operator', 'sim:issuer', 'sim:admin', 'admin'] as const

/** The pages that plugins add, as the menu has all pages. They come and go with their plugins. */
export function pagesOfPlugins(): readonly Page[] {
  return pluginPages.value.flatMap((told) => {
    const role = ROLES.find((one) => one === told.role)
    const group = GROUPS.find((one) => one === told.group)
    if (role === undefined) return []
    const { path, title, module } = told
    return [
      {
        path,
        title: nameOf(title),
        role,
        ...(group === undefined ? {} : { group }),
        load: () => load(module),
      },
    ]
  })
}

function nameOf(title: Told['title']): { readonly text: string } {
  return { text: title[locale().slice(0, 2)] ?? title.en ?? '' }
}

const loaded = new Map<string, Promise<Awaited<ReturnType<Page['load']>>>>()

/** The same component each time: another one would be drawn anew. */
function load(module: string): ReturnType<Page['load']> {
  const known =
    loaded.get(module) ??
    import(/* @vite-ignore */ module).then((own: PluginModule) => ({ Page: drawnBy(own) }))
  loaded.set(module, known)
  known.catch(() => loaded.delete(module))
  return known
}

function drawnBy({ mount }: PluginModule) {
  return function PluginPage({ params }: PageProps) {
    const root = useRef<HTMLDivElement>(null)
    const [problem, setProblem] = useState<string | undefined>(undefined)
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
