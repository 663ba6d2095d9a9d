import type { Page } from '../../app/pages.ts'

/** SIMs: the list, and bringing cards in. */
export const simsPages: readonly Page[] = [
  {
    path: '/sims',
    title: 'sims.title',
    role: 'viewer',
    group: 'people',
    place: 10,
    load: () => import('./sims.tsx'),
  },
  { path: '/sims/import', title: 'import.title', role: 'sim:issuer', load: () => import('./import.tsx') },
]
