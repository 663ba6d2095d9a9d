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
export { download } from './api/download.ts'
export { may } from './api/session.ts'
export { usePages } from './api/use-pages.ts'
export { type Query, useAction, useQuery } from './api/use-query.ts'
export { type Rows, useRows } from './api/use-rows.ts'
export { type Incident, IncidentList, nameOf as incidentName, useBoard, wellText } from './app/incidents.tsx'
export { isAbout } from './app/is-about.ts'
export { hasLabCore } from './app/outages.tsx'
export type { PageProps } from './app/pages.ts'
export { ifPage, pageThatMends } from './app/pages-here.ts'
export { Panels } from './app/plugin-pages.tsx'
export { filter, navigate, query, setFilters } from './app/router.ts'
export { OrderFields } from './pages/sims/order.tsx'
export { EMPTY_ORDER, numberOf, type Order, orderBody } from './pages/sims/order-body.ts'
export { nameOf, pageOf, type Sim } from './pages/sims/sim.tsx'
export { ByHand } from './pages/start/by-hand.tsx'
export { SetButton } from './pages/start/set-button.tsx'
export type { Planned } from './pages/start/use-settings.ts'
export { choices, componentText, locale, named, word, wordsOf } from './text/index.ts'
export { Button, ButtonLink } from './ui/button.tsx'
export { Bytes, bytesText, rateText } from './ui/bytes.tsx'
export { Card } from './ui/card.tsx'
export { Copy } from './ui/copy.tsx'
export { type Column, DataTable } from './ui/data-table.tsx'
export { Dialog } from './ui/dialog.tsx'
export { EmptyState } from './ui/empty-state.tsx'
export { Facts } from './ui/facts.tsx'
export { Checkbox, Field, Select } from './ui/field.tsx'
export { FileField } from './ui/file-field.tsx'
export { Form, type FormProps } from './ui/form.tsx'
export { DialogButton, FormDialog } from './ui/form-dialog.tsx'
export { HealthList } from './ui/health-list.tsx'
export { Icon } from './ui/icon.tsx'
export type { IconName } from './ui/icons.ts'
export { Lamp, type Tone } from './ui/lamp.tsx'
export { Loaded } from './ui/loaded.tsx'
export { ErrorNotice, Notice } from './ui/notice.tsx'
export { PagedTable } from './ui/paged-table.tsx'
export { Progress } from './ui/progress.tsx'
export { OnlyHere, QrCode } from './ui/qr-code.tsx'
export { Said } from './ui/said.tsx'
export { saveFile } from './ui/save-file.ts'
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
