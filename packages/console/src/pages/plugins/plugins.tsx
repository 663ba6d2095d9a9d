import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { usePages } from '../../api/use-pages.ts'
import { navigate } from '../../app/router.ts'
import { t, word } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { FileField } from '../../ui/file-field.tsx'
import { Form } from '../../ui/form.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Said } from '../../ui/said.tsx'
import { HealthLamp, type PluginRecord, StateLamp } from './plugin-state.tsx'

/** All plugins, those that need somebody first, and a way to install one. */
export function Page() {
  const plugins = usePages('/v1/plugins', {}, ['plugin.*', 'health.*'])
  return (
    <>
      <h1>{t('plugins.title')}</h1>
      <Install onInstalled={plugins.reload} />
      <Loaded query={plugins}>
        {(rows) => (
          <>
            {rows
              .filter(({ error, state }) => error !== null && state !== 'disabled')
              .map((one) => (
                <Notice
                  key={one.name}
                  tone={one.state === 'running' || one.state === 'needs_config' ? 'warn' : 'bad'}
                >
                  <p>
                    <a href={`/plugins/${one.name}`}>{one.name}</a> <StateLamp plugin={one} />
                  </p>
                  <p>
                    <Said>{one.error}</Said>
                  </p>
                </Notice>
              ))}
            <DataTable
              label={t('plugins.title')}
              rows={rows}
              columns={columns()}
              keyOf={({ name }) => name}
              onOpen={({ name }) => navigate(`/plugins/${name}`)}
              footer={
                plugins.more === undefined ? null : <Button onClick={plugins.more}>{t('ui.more')}</Button>
              }
            />
          </>
        )}
      </Loaded>
    </>
  )
}

/** It is unpacked, checked and started before the answer. */
const LONGEST_MS = 300_000

function Install({ onInstalled }: { readonly onInstalled: () => void }) {
  const [file, setFile] = useState<File | undefined>(undefined)
  const [done, setDone] = useState<PluginRecord | undefined>(undefined)
  const install = async () => {
    setDone(undefined)
    const body = { type: 'application/gzip', content: file ?? '' } as const
    const result = await api.post('/v1/plugins', { body, timeoutMs: LONGEST_MS })
    onInstalled()
    return result
  }
  return (
    <Card title={t('plugins.install')}>
      <p>{t('plugins.install.what')}</p>
      <Form
        submit={t('plugins.install')}
        icon="plus"
        kind="primary"
        isDisabled={file === undefined}
        act={install}
        onDone={setDone}
        beside={<a href="/docs/how-to/plugins.html">{t('plugins.docs')}</a>}
      >
        <FileField text="plugins.file" accept=".tgz,.gz" onChoose={setFile} />
        {done === undefined ? null : (
          <Notice tone={done.state === 'running' ? 'ok' : 'warn'}>
            <p>
              {t('plugins.installed', { name: done.name, version: done.version })} <StateLamp plugin={done} />
            </p>
            {done.error === null ? null : (
              <p>
                <Said>{done.error}</Said>
              </p>
            )}
          </Notice>
        )}
      </Form>
    </Card>
  )
}

function columns(): readonly Column<PluginRecord>[] {
  return [
    {
      key: 'name',
      title: t('plugins.name'),
      cell: ({ name }) => <a href={`/plugins/${name}`}>{name}</a>,
      compare: (a, b) => a.name.localeCompare(b.name),
    },
    {
      key: 'state',
      title: t('plugins.state'),
      cell: (plugin) => <StateLamp plugin={plugin} />,
      compare: (a, b) => a.state.localeCompare(b.state),
    },
    {
      key: 'health',
      title: t('plugins.health'),
      cell: (plugin) => (plugin.state === 'running' ? <HealthLamp plugin={plugin} /> : '–'),
    },
    { key: 'version', title: t('plugins.version'), cell: ({ version }) => version },
    {
      key: 'kind',
      title: t('plugins.kind'),
      cell: ({ kind }) => (kind === null ? '' : word('plugins.kind', kind)),
      isWide: true,
    },
    { key: 'by', title: t('plugins.signedBy'), cell: ({ signed_by }) => signed_by ?? '', isWide: true },
  ]
}
