import type { Page } from '../../app/pages.ts'

/** Who may log in, with what, and who is logged in. */
export const peoplePages: readonly Page[] = [
  {
    path: '/people',
    title: 'people.title',
    role: 'admin',
    group: 'box',
    place: 30,
    load: () => import('./people.tsx'),
  },
  { path: '/people/:id', title: 'people.one', role: 'admin', load: () => import('./person.tsx') },
]
