/**
 * What pages and panels of plugins are built on, at `/console-files/kit.js`: the console's own Preact, its parts, and what it knows. A name
 * that stands here stays.
 */
import { t as say } from './text/index.ts'

export { signal } from '@preact/signals'
export type { AnswerOf, ItemOf, Problem, RequestOf } from '@steeple/client'
export type { ComponentChildren, ComponentType } from 'preact'
export { useEffect, useMemo, useRef, useState } from 'preact/hooks'
export { Fragment, type JSX, jsx, jsxs } from 'preact/jsx-runtime'
export { listen } from './api/changes.ts'
export { api } from './api/client.ts'
export { download, saveFile } from './api/download.ts'
export { may } from './api/session.ts'
export { type Query, useAction, useQuery } from './api/use-query.ts'
export { type Rows, usePages, useRows } from './api/use-rows.ts'
export {
  type Incident,
  IncidentList,
  isAbout,
  nameOf as incidentName,
  useBoard,
  wellText,
} from './app/incidents.tsx'
export { hasLabCore } from './app/outages.tsx'
export type { PageProps } from './app/pages.ts'
export { ifPage, pageThatMends } from './app/pages-here.ts'
export { Panels } from './app/plugin-pages.tsx'
export { filter, navigate, query, setFilters } from './app/router.ts'
export { EMPTY_ORDER, numberOf, type Order, OrderFields, orderBody } from './pages/sims/order.tsx'
export { nameOf, pageOf, type Sim } from './pages/sims/sim.tsx'
export { ByHand, SetButton } from './pages/start/by-hand.tsx'
export type { Planned } from './pages/start/use-settings.ts'
export { choices, componentText, locale, named, word, wordsOf } from './text/index.ts'
export { Button, ButtonLink, RowButton } from './ui/button.tsx'
export { Bytes, bytesText, rateText } from './ui/bytes.tsx'
export { Copy } from './ui/copy.tsx'
export { type Column, DataTable, PagedTable } from './ui/data-table.tsx'
export { Closing, Dialog, DialogButton, FormDialog } from './ui/dialog.tsx'
export { Checkbox, Checkboxes, Field, FileField, fieldsOf, Select, toggled, useTyped } from './ui/field.tsx'
export { Form, type FormProps } from './ui/form.tsx'
export { HealthList } from './ui/health-list.tsx'
export type { IconName } from './ui/icon.tsx'
export { Icon } from './ui/icon.tsx'
export { ErrorNotice, Loaded, Notice } from './ui/notice.tsx'
export { Card, EmptyState, Facts, Lamp, Progress, Said, type Tone } from './ui/parts.tsx'
export { OnlyHere, QrCode } from './ui/qr-code.tsx'
export { StaleChoice, StaleNotice } from './ui/stale-notice.tsx'
export { SubscriberName } from './ui/subscriber-name.tsx'
export { Tabs } from './ui/tabs.tsx'
export { durationText, Lasted, Time } from './ui/time.tsx'
export { toast } from './ui/toast.tsx'
export { useDraft } from './ui/use-draft.ts'
export { whoOf, whoText } from './ui/who.ts'

/** A text of the plugin, or of the console. */
export const t = say as (key: string, values?: Readonly<Record<string, string | number>>) => string

/** Adds a style sheet of the plugin, once for each module; the policy of the page lets no style stand in it. */
export function addStyle(css: string): void {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(css)
  document.adoptedStyleSheets.push(sheet)
}
