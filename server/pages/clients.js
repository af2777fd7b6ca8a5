// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Brings the page of the busiest clients up to date every two seconds, and leaves focus and scroll positions where they are.

'use strict';

async function updateClients() {
  const response = await get(location.href);
  if (!response.ok) return;
  const fresh = new DOMParser().parseFromString(await response.text(), 'text/html');
  document.getElementById('known').textContent = fresh.getElementById('known').textContent;
  const body = '#clients tbody';
  replaceRows(document.querySelector(body), [...fresh.querySelector(body).rows].map((row) => document.adoptNode(row)));
}

async function runClients() {
  const status = document.getElementById('status');
  try {
    if (!document.hidden) await updateClients();
    status.textContent = '';
  } catch {
    status.textContent ||= `No connection since ${new Date().toLocaleTimeString('en-GB')}`;
  } finally {
    setTimeout(runClients, 2000);
  }
}

setTimeout(runClients, 2000);
