import type { Page } from '../../app/pages.ts'

/** What the service is made of, and what was installed into it. */
export const pluginsPages: readonly Page[] = [
  {
    path: '/plugins',
    title: 'plugins.title',
    role: 'admin',
    group: 'box',
    place: 10,
    load: () => import('./plugins.tsx'),
  },
  { path: '/plugins/:name', title: 'plugins.one', role: 'admin', load: () => import('./plugin.tsx') },
]
