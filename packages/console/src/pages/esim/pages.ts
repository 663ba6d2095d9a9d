import type { Page } from '../../app/pages.ts'

/** eSIM: activation codes, the chips that have them, certificates; and cards to print. */
export const esimPages: readonly Page[] = [
  {
    path: '/esim',
    title: 'esim.title',
    role: 'viewer',
    feature: 'esim-smdp',
    group: 'people',
    place: 30,
    load: () => import('./esim.tsx'),
  },
  {
    path: '/esim/cards',
    title: 'esim.cards.title',
    role: 'sim:issuer',
    feature: 'esim-smdp',
    load: () => import('./cards.tsx'),
  },
]
